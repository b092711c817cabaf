//! What the feature `metrics` publishes, as a recorder of the facade sees it.
#![cfg(feature = "metrics")]
#![allow(clippy::disallowed_types, reason = "tests may lock")]

mod common;

use common::{SMALL_SLAB, pool};
use mbuf::Pool;
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

type Values = Arc<Mutex<BTreeMap<String, f64>>>;

/// Keeps the last value of each metric, by its name and labels.
#[derive(Default)]
struct Kept {
    values: Values,
    described: Mutex<BTreeSet<String>>,
}

/// One metric of [`Kept`].
struct Entry {
    key: String,
    values: Values,
}

impl Entry {
    fn keep(&self, value: f64) {
        self.values.lock().unwrap().insert(self.key.clone(), value);
    }
}

impl CounterFn for Entry {
    fn increment(&self, _: u64) {
        unreachable!("counts are absolute");
    }

    fn absolute(&self, value: u64) {
        self.keep(value as f64);
    }
}

impl GaugeFn for Entry {
    fn increment(&self, _: f64) {
        unreachable!("gauges are set");
    }

    fn decrement(&self, _: f64) {
        unreachable!("gauges are set");
    }

    fn set(&self, value: f64) {
        self.keep(value);
    }
}

impl Kept {
    fn entry(&self, kind: &str, key: &Key) -> Arc<Entry> {
        let labels: Vec<_> = key
            .labels()
            .map(|l| format!("{}={}", l.key(), l.value()))
            .collect();
        Arc::new(Entry {
            key: format!("{kind} {}{{{}}}", key.name(), labels.join(",")),
            values: self.values.clone(),
        })
    }

    fn describe(&self, kind: &str, name: &KeyName, meaning: &str) {
        assert!(!meaning.is_empty());
        let mut described = self.described.lock().unwrap();
        assert!(
            described.insert(format!("{kind} {}", name.as_str())),
            "described twice"
        );
    }

    fn value(&self, key: &str) -> f64 {
        let values = self.values.lock().unwrap();
        *values
            .get(key)
            .unwrap_or_else(|| panic!("no {key} in {values:#?}"))
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, meaning: SharedString) {
        self.describe("counter", &name, &meaning);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, meaning: SharedString) {
        self.describe("gauge", &name, &meaning);
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.entry("counter", key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.entry("gauge", key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[test]
fn a_recorder_gets_every_figure_with_its_labels() {
    let kept = Kept::default();
    let pool = pool(4 * SMALL_SLAB);
    let packets: Vec<_> = (0..3).map(|_| pool.alloc(2048).unwrap()).collect();
    let span = pool.alloc(100_000).unwrap();
    metrics::with_local_recorder(&kept, || pool.publish_metrics("rx"));
    assert_eq!(kept.value("gauge mbuf_capacity_bytes{pool=rx}"), 262_144.0);
    assert_eq!(
        kept.value("gauge mbuf_blocks_in_use{pool=rx,class=2048}"),
        3.0
    );
    assert_eq!(kept.value("gauge mbuf_slabs{pool=rx,class=spans}"), 2.0);
    assert_eq!(
        kept.value("counter mbuf_allocs_total{pool=rx,class=2048}"),
        3.0
    );
    assert_eq!(
        kept.values.lock().unwrap().len(),
        pool.stats().figures().count()
    );

    drop((packets, span));
    metrics::with_local_recorder(&kept, || pool.publish_metrics("rx"));
    assert_eq!(
        kept.value("gauge mbuf_blocks_in_use{pool=rx,class=2048}"),
        0.0
    );
    assert_eq!(
        kept.value("counter mbuf_frees_total{pool=rx,class=2048}"),
        3.0
    );
    assert_eq!(kept.value("gauge mbuf_slabs{pool=rx,class=spans}"), 0.0);
}

#[test]
fn what_is_published_is_described() {
    let kept = Kept::default();
    let pool = pool(4 * SMALL_SLAB);
    metrics::with_local_recorder(&kept, || {
        Pool::describe_metrics();
        pool.publish_metrics("rx");
    });
    let name = |key: &String| key.split('{').next().unwrap().to_owned();
    let published: BTreeSet<_> = kept.values.lock().unwrap().keys().map(name).collect();
    assert_eq!(*kept.described.lock().unwrap(), published);
}

#[test]
fn nothing_is_published_to_nobody() {
    pool(SMALL_SLAB).publish_metrics("rx");
}

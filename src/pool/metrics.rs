//! Statistics by way of the `metrics` facade, with the feature of that name.

use super::Pool;
use super::figures::{FigureKind, FigurePart, each_name};
use metrics::{Label, SharedString};

impl Pool {
    /// Publishes the pool's statistics to the program's `metrics` recorder: each of [`Stats::figures`](crate::Stats::figures)
    /// by its name as a gauge or a counter, with the label `pool`, which is `name`, and for those of a class the label `class`, which is
    /// its bytes of data or `spans`.
    ///
    /// With the feature `metrics`. Nothing is published but by this call: make it as often as the numbers are looked at, from a
    /// timer or just before they are collected, once in some seconds; at most some times a second. Pools of one name are taken
    /// for one, and of its counters the recorder keeps the largest: a pool that is built anew should have a new name.
    ///
    /// # Cost
    /// That of [`stats`](Self::stats), and for each figure what the recorder takes and some small pieces of the heap. Alloc and
    /// free pay nothing for it.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// mbuf::Pool::describe_metrics();
    /// let publisher = pool.clone();
    /// std::thread::spawn(move || {
    ///     loop {
    ///         publisher.publish_metrics("packets");
    ///         std::thread::sleep(Duration::from_secs(5));
    ///     }
    /// });
    /// # Ok::<(), mbuf::BuildError>(())
    /// ```
    pub fn publish_metrics(&self, name: &str) {
        let name = SharedString::from_shared(name.into());
        for figure in self.stats().figures() {
            let mut labels = vec![Label::new("pool", name.clone())];
            if figure.part != FigurePart::Pool {
                labels.push(Label::new("class", figure.part.to_string()));
            }
            match figure.kind {
                FigureKind::Gauge => {
                    metrics::gauge!(target: "mbuf", figure.name, labels).set(figure.value as f64);
                }
                FigureKind::Counter => {
                    metrics::counter!(target: "mbuf", figure.name, labels).absolute(figure.value);
                }
            }
        }
    }

    /// Tells the program's `metrics` recorder what the names mean that [`publish_metrics`](Self::publish_metrics) uses. With
    /// the feature `metrics`; once, after the recorder is installed, is enough.
    pub fn describe_metrics() {
        each_name(|name, kind, meaning| match kind {
            FigureKind::Gauge => metrics::describe_gauge!(name, meaning),
            FigureKind::Counter => metrics::describe_counter!(name, meaning),
        });
    }
}

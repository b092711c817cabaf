//! Statistics as named figures: all there, none twice, and with the values of the fields.

mod common;

use common::{SMALL_SLAB, pool};
use mbuf::{FigureKind, FigurePart, Stats};
use std::collections::BTreeSet;

/// Statistics of a pool that has used bare headers, a class, a span, and was exhausted.
fn busy() -> Stats {
    let pool = pool(4 * SMALL_SLAB);
    let packet = pool.alloc(2048).unwrap();
    let copy = packet.copy_ref().unwrap();
    let span = pool.alloc(100_000).unwrap();
    assert!(pool.alloc(200_000).is_err());
    let stats = pool.stats();
    drop((packet, copy, span));
    stats
}

fn sum(stats: &Stats, name: &str) -> u64 {
    let mut found = stats
        .figures()
        .filter(|figure| figure.name == name)
        .peekable();
    assert!(found.peek().is_some(), "there is no {name}");
    found.map(|figure| figure.value).sum()
}

#[test]
fn the_figures_of_classes_add_up_to_the_pools() {
    let stats = busy();
    assert_eq!(sum(&stats, "mbuf_capacity_bytes"), stats.capacity);
    assert_eq!(sum(&stats, "mbuf_reserved_bytes"), stats.reserved);
    assert_eq!(sum(&stats, "mbuf_slab_bytes"), stats.slab_size);
    assert_eq!(sum(&stats, "mbuf_blocks_in_use"), stats.in_use);
    assert_eq!(sum(&stats, "mbuf_blocks_cached"), stats.cached);
    assert_eq!(sum(&stats, "mbuf_blocks_in_depot"), stats.in_depot);
    assert_eq!(sum(&stats, "mbuf_slabs"), stats.slabs);
    assert_eq!(
        sum(&stats, "mbuf_slabs_given_back_total"),
        stats.slabs_given_back
    );
    assert_eq!(sum(&stats, "mbuf_allocs_total"), stats.allocs);
    assert_eq!(sum(&stats, "mbuf_frees_total"), stats.frees);
    assert_eq!(sum(&stats, "mbuf_failed_allocs_total"), stats.failed);
    assert_eq!((stats.in_use, stats.failed), (3, 1));
}

#[test]
fn no_figure_comes_twice_and_each_says_what_it_is() {
    let stats = busy();
    let mut seen = BTreeSet::new();
    for figure in stats.figures() {
        assert!(
            seen.insert(format!("{} {}", figure.name, figure.part)),
            "{figure}"
        );
        assert!(figure.meaning.ends_with('.'), "{figure}");
        let grows = figure.name.ends_with("_total");
        assert_eq!(grows, figure.kind == FigureKind::Counter, "{figure}");
    }
    let parts: BTreeSet<_> = stats
        .figures()
        .map(|figure| figure.part.to_string())
        .collect();
    assert_eq!(
        parts,
        BTreeSet::from(["0", "2048", "pool", "spans"].map(String::from))
    );
}

#[test]
fn a_figure_reads_as_a_line() {
    let stats = busy();
    let lines: Vec<_> = stats.figures().map(|figure| figure.to_string()).collect();
    assert!(
        lines.contains(&"mbuf_capacity_bytes 262144".into()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"mbuf_blocks_in_use{class=\"2048\"} 1".into()),
        "{lines:?}"
    );
    assert_eq!(
        format!("{:>8}|{:>6}", FigurePart::Spans, FigurePart::Class(64)),
        "   spans|    64"
    );
}

use super::{Purpose, Slab, SlabTable};
use crate::arena::{GRANULE, Offset, Plan};
use crate::bits::Bits;
use crate::class::{CLASSES, Class, Classes};
use crate::test_parts::{HEADER, Parts, data_class};

#[test]
fn the_tables_and_the_slabs_do_not_overlap() {
    const SLABS: usize = 1000;
    let classes = Classes::of_pool(1, 2);
    let mut plan = Plan::after(64);
    let table = SlabTable::plan(&mut plan, &classes, SLABS as u32, GRANULE as u64);
    let set = SLABS.div_ceil(64) * size_of::<Bits>();
    let bitmap = (classes.blocks_per_slab(HEADER) as usize).div_ceil(64) * size_of::<Bits>();
    let slabs = SLABS * classes.slab_bytes() as usize;
    let mut free = 64;
    for (start, bytes) in [
        (table.slabs, SLABS * size_of::<Slab>()),
        (table.taken, set),
        (table.room, set * CLASSES),
        (table.home, bitmap * SLABS),
        (table.first, slabs),
    ] {
        assert!(start.bytes() >= free);
        free = start.bytes() + bytes;
    }
    assert!(plan.len() as usize >= free);
}

#[test]
fn the_blocks_of_a_slab_do_not_overlap_and_lie_in_it() {
    let parts = Parts::new(2);
    for class in [HEADER, data_class(), Class::of(3000)] {
        let blocks = parts.open(class, u32::MAX);
        assert_eq!(blocks.len(), parts.per_slab(class));
        let bytes = parts.classes.block_bytes(class) as usize;
        let slab = parts.classes.slab_bytes() as usize;
        let start = blocks[0].bytes();
        assert_eq!(start % slab, 0);
        for (number, block) in blocks.iter().enumerate() {
            assert_eq!(block.bytes(), start + number * bytes);
            assert!(block.bytes() + bytes <= start + slab);
            let header = parts.header(*block);
            assert_eq!((header.offset(), header.class()), (*block, class));
        }
        parts.give(class, &blocks);
        parts.reclaim();
    }
}

#[test]
fn blocks_given_home_are_taken_again_before_new_ones_are_carved() {
    let parts = Parts::new(1);
    let out = parts.open(HEADER, 3);
    parts.give(HEADER, &out[1..]);
    let mut again = parts.take(HEADER, 5);
    assert_eq!(again.len(), 2);
    again.push(out[0]);
    again.sort_unstable();
    assert_eq!(again, out);
    assert_eq!(parts.slabs.counts(HEADER).carved, 3);
    parts.assert_conserved(HEADER, &out);
}

#[test]
fn home_blocks_of_any_slab_come_before_new_ones() {
    let parts = Parts::new(2);
    let mut out = parts.open(HEADER, 1);
    let full = parts.open(HEADER, u32::MAX);
    parts.give(HEADER, &full[..2]);
    assert_eq!(parts.take(HEADER, 5), full[..2]);
    out.extend(full);
    parts.assert_conserved(HEADER, &out);
}

#[test]
fn a_search_leaves_what_other_classes_have_listed() {
    // More slabs than a word of a set has bits.
    let parts = Parts::new(66);
    let out = parts.open(data_class(), 1);
    for _ in 1..66 {
        assert!(!parts.open(HEADER, u32::MAX).is_empty());
    }
    assert!(parts.take(HEADER, 1).is_empty(), "all of them are full");
    parts.assert_conserved(data_class(), &out);
}

#[test]
fn blocks_of_several_slabs_find_their_ways_home() {
    let parts = Parts::new(3);
    let class = Class::of(3000);
    let mut out = parts.open(class, u32::MAX);
    out.extend(parts.open(class, u32::MAX));
    out.extend(parts.take_or_open(class, 1));
    out.reverse();
    let half = out.split_off(out.len() / 2);
    parts.give(class, &half);
    parts.assert_conserved(class, &out);
}

#[test]
fn a_slab_changes_its_class_only_when_all_its_blocks_are_home() {
    let parts = Parts::new(1);
    let out = parts.open(HEADER, 70);
    parts.give(HEADER, &out[1..]);
    assert_eq!(parts.reclaim(), 0);
    assert!(parts.open(data_class(), 1).is_empty());
    parts.give(HEADER, &out[..1]);
    assert_eq!(parts.reclaim(), 1);
    assert!(parts.take(HEADER, 1).is_empty());
    let block = parts.open(data_class(), 1)[0];
    assert_eq!(block, out[0], "the same memory");
    parts.assert_conserved(data_class(), &[block]);
    let counts = parts.slabs.counts(HEADER);
    assert_eq!(
        (counts.carved, counts.home, counts.slabs, counts.given_back),
        (0, 0, 0, 1)
    );
}

#[test]
fn a_block_of_a_slab_opened_again_has_another_generation() {
    let parts = Parts::new(1);
    let mut seen = Vec::new();
    for _ in 0..100 {
        let out = parts.open(HEADER, 1);
        seen.push(parts.header(out[0]).generation());
        parts.give(HEADER, &out);
        assert_eq!(parts.reclaim(), 1);
    }
    seen.sort_unstable();
    let apart = |pair: &[u32]| pair[1] - pair[0] > 1_000_000;
    assert!(
        seen.windows(2).all(apart),
        "tokens of one life reach into no other"
    );
}

fn take_span(parts: &Parts, slabs: u64) -> Option<Offset> {
    let bytes = slabs * parts.classes.slab_bytes() - crate::header::HEADER as u64;
    parts
        .slabs
        .take_span(parts.arena, &parts.classes, Purpose::Ordinary, bytes)
}

fn give_span(parts: &Parts, block: Offset) {
    // SAFETY: the tests give what they took.
    unsafe { parts.slabs.give_span(parts.arena, &parts.classes, block) };
}

#[test]
fn spans_take_runs_of_slabs_and_give_them_back() {
    let parts = Parts::new(4);
    let small = parts.open(HEADER, 1);
    assert!(take_span(&parts, 4).is_none());
    let three = take_span(&parts, 3).unwrap();
    assert_eq!(parts.header(three).class(), Class::SPAN);
    assert!(take_span(&parts, 1).is_none());
    assert!(parts.open(data_class(), 1).is_empty());
    give_span(&parts, three);
    let (one, two) = (take_span(&parts, 1).unwrap(), take_span(&parts, 2).unwrap());
    assert_ne!(one, two);
    give_span(&parts, one);
    give_span(&parts, two);
    parts.give(HEADER, &small);
    assert_eq!(parts.reclaim(), 1, "spans are nobody's to reclaim");
    let all = take_span(&parts, 4).unwrap();
    assert_eq!(parts.reclaim(), 0);
    give_span(&parts, all);
    let counts = parts.slabs.counts(Class::SPAN);
    assert_eq!((counts.carved, counts.slabs, counts.given_back), (0, 0, 10));
}

#[test]
fn free_slabs_are_discarded_once() {
    let parts = Parts::new(3);
    let discard = || parts.slabs.discard_free(parts.arena, &parts.classes);
    assert_eq!(discard(), 0, "nothing was touched");
    let kept = parts.open(HEADER, 1);
    let out = parts.open(data_class(), 1);
    let last = out[0].plus(parts.classes.slab_bytes() - 64);
    // SAFETY: inside the slab, whose only block out is this test's.
    unsafe { parts.arena.at::<u64>(last).write(7) };
    parts.give(data_class(), &out);
    assert_eq!(parts.reclaim(), 1);
    assert_eq!(discard(), parts.classes.slab_bytes());
    assert_eq!(discard(), 0);
    // SAFETY: as above; the slab is free and this test's alone.
    assert_eq!(unsafe { parts.arena.at::<u64>(last).read() }, 0);
    parts.assert_conserved(HEADER, &kept);
}

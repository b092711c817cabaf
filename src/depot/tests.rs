use super::Head;
use crate::test_parts::{HEADER, Parts, data_class};

fn put(parts: &Parts, blocks: &[u32]) {
    let magazine = parts.depot.take_empty(parts.arena).unwrap();
    magazine.load(parts.arena, 0, blocks.iter().copied());
    parts.depot.put_full(parts.arena, HEADER, magazine);
}

fn take(parts: &Parts) -> Option<Vec<u32>> {
    let magazine = parts.depot.take_full(parts.arena, HEADER)?;
    let blocks = magazine.unload(parts.arena).collect();
    parts.depot.put_empty(parts.arena, magazine);
    Some(blocks)
}

#[test]
fn the_last_magazine_put_is_the_first_taken() {
    let parts = Parts::new(1);
    put(&parts, &[1, 2]);
    put(&parts, &[3]);
    assert_eq!(parts.depot.blocks(HEADER), 3);
    assert_eq!(take(&parts), Some(vec![3]));
    assert_eq!(take(&parts), Some(vec![1, 2]));
    assert_eq!(take(&parts), None);
    assert_eq!(parts.depot.blocks(HEADER), 0);
}

#[test]
fn classes_have_stacks_of_their_own() {
    let parts = Parts::new(1);
    put(&parts, &[1, 2]);
    assert!(parts.depot.is_empty(data_class()));
    assert!(!parts.depot.is_empty(HEADER));
    assert!(parts.depot.take_full(parts.arena, data_class()).is_none());
}

#[test]
fn magazines_end_and_come_back() {
    let parts = Parts::new(1);
    let all: Vec<_> = std::iter::from_fn(|| parts.depot.take_empty(parts.arena)).collect();
    assert_eq!(all.len(), 6);
    let mut places: Vec<u32> = all.iter().map(|magazine| magazine.place().raw()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 6, "each is another");
    for magazine in all {
        parts.depot.put_empty(parts.arena, magazine);
    }
    assert!(parts.depot.take_empty(parts.arena).is_some());
}

#[test]
fn a_magazine_unloaded_is_empty() {
    let parts = Parts::new(1);
    let magazine = parts.depot.take_empty(parts.arena).unwrap();
    magazine.load(parts.arena, 0, [7, 8].into_iter());
    assert!(magazine.unload(parts.arena).eq([7, 8]));
    assert!(magazine.unload(parts.arena).eq([]));
}

#[test]
fn a_head_is_another_after_each_change_to_the_same_top() {
    let once = Head(0).then(7);
    let twice = once.then(7);
    assert!(once != Head(7) && twice != once);
    assert_eq!(twice.top(), once.top());
    let wrapped = Head(u64::MAX).then(7);
    assert_eq!(wrapped.top(), once.top());
}

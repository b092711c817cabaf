use super::*;
use memoffset::{offset_of, span_of};

/// The tables of `docs/layout.md`.
#[test]
fn the_layout_is_what_the_documentation_says() {
    assert_eq!(size_of::<Header>(), 192);
    assert_eq!(align_of::<Header>(), 64);
    assert_eq!(span_of!(Header, refcount), 0..4);
    assert_eq!(span_of!(Header, self_offset), 4..8);
    assert_eq!(span_of!(Header, owner), 8..12);
    assert_eq!(span_of!(Header, next), 12..16);
    assert_eq!(span_of!(Header, tail), 16..20);
    assert_eq!(span_of!(Header, class), 20..21);
    assert_eq!(span_of!(Header, segments), 21..22);
    assert_eq!(span_of!(Header, flags), 22..24);
    assert_eq!(span_of!(Header, data_len), 24..32);
    assert_eq!(span_of!(Header, data_offset), 32..40);
    assert_eq!(span_of!(Header, capacity), 40..48);
    assert_eq!(span_of!(Header, generation), 48..52);
    assert_eq!(span_of!(Header, holder), 52..56);
    assert_eq!(span_of!(Header, timestamp), 56..64);
    assert_eq!(span_of!(Header, user), 64..160);
    assert_eq!(span_of!(Header, external), 160..184);
    assert_eq!(span_of!(Header, track), 184..192);
    assert_eq!(offset_of!(Header, data), 192);
    assert_eq!(size_of::<Witness>(), 0);
    let bits = [
        flags::LIVE,
        flags::MEMBER,
        flags::SPAN,
        flags::COPY,
        flags::USER_WRITTEN,
        flags::STAMPED,
    ];
    assert_eq!(bits, [1, 2, 4, 8, 16, 32]);
}

const OWN: u32 = 5;

fn carved(born: u16) -> Header {
    Header::carved(OWN, Class::HEADER, 9, born)
}

fn activate(header: &Header, capacity: u64) {
    // SAFETY: the header is the test's alone.
    unsafe { header.activate(header.offset(), capacity, 0) }
}

/// Asserts that the header is one of an mbuf just allocated.
fn assert_fresh(header: &Header, capacity: usize, watched: u16) {
    assert_eq!(header.offset().raw(), OWN);
    assert_eq!(header.class(), Class::HEADER);
    assert_eq!(header.flags(), flags::LIVE | watched);
    // SAFETY: the header is the test's alone.
    unsafe {
        assert_eq!(header.owner().raw(), OWN);
        assert_eq!(header.tail().raw(), OWN);
        assert_eq!(header.segments(), 1);
        assert_eq!(header.next(), None);
        assert_eq!(header.data_len(), 0);
        assert_eq!(header.data_offset(), 0);
        assert_eq!(header.capacity(), capacity);
        assert_eq!(*header.user_ptr(), [0; USER_AREA]);
        assert_eq!(header.timestamp(), 0);
    }
    assert_eq!(
        header.refcount.load(crate::sync::Ordering::Relaxed),
        1,
        "one handle"
    );
}

#[test]
fn a_carved_header_is_free() {
    let header = carved(0);
    assert_eq!(header.flags(), 0);
    assert_eq!(header.generation(), 9);
    activate(&header, 7);
    assert_fresh(&header, 7, 0);
}

#[test]
fn whatever_its_last_user_left_an_allocated_header_is_fresh() {
    let header = carved(0);
    activate(&header, 100);
    // SAFETY: the header is this test's alone.
    unsafe {
        assert!(header.is_plain());
        (*header.user_ptr())[95] = 1;
        header.set_flags(flags::USER_WRITTEN, 0);
        header.set_timestamp(4);
        assert!(header.is_plain());
        header.set_data_len(3);
        header.set_view(2, 98);
        assert!(header.is_plain());
        header.set_next(Offset::from_raw(7));
        header.set_tail(Offset::from_raw(7).unwrap());
        header.set_segments(2);
        header.set_flags(flags::MEMBER, 0);
        assert!(!header.is_plain());
    }
    activate(&header, 1);
    assert_fresh(&header, 1, 0);
}

#[test]
fn a_copys_header_is_fresh_when_it_is_allocated_again() {
    let (header, original) = (carved(0), Header::carved(6, Class::HEADER, 1, 0));
    // SAFETY: the headers are this test's alone.
    unsafe {
        original.activate(original.offset(), 100, 0);
        (*original.user_ptr())[0] = 1;
        original.set_flags(flags::USER_WRITTEN, 0);
        original.set_data_len(50);
        header.set_next(Offset::from_raw(7));
        header.set_flags(flags::MEMBER, 0);
        header.activate_copy(header.offset(), &original);
        assert_eq!((header.owner().raw(), header.offset().raw()), (6, OWN));
        assert_eq!((header.data_len(), header.capacity()), (50, 100));
        assert_eq!((header.next(), header.segments()), (None, 1));
        assert_eq!((*header.user_ptr())[0], 1);
    }
    activate(&header, 1);
    assert_fresh(&header, 1, 0);
}

#[cfg(feature = "capi")]
#[test]
fn a_watched_header_shows_that_it_is_free() {
    let header = carved(flags::WATCHED);
    activate(&header, 100);
    assert_fresh(&header, 100, flags::WATCHED);
    // SAFETY: the header is this test's alone.
    unsafe {
        assert!(header.is_plain_and_watched() && !header.is_plain());
        header.set_timestamp(4);
        header.set_next(Offset::from_raw(7));
        header.unchain(header.offset());
        header.deactivate(0);
        assert_eq!(header.flags(), flags::STAMPED | flags::WATCHED);
        assert_eq!(header.generation(), 10);
    }
    activate(&header, 1);
    assert_fresh(&header, 1, flags::WATCHED);
}

#[test]
fn a_timestamp_alone_does_not_outlive_its_mbuf() {
    let header = carved(0);
    activate(&header, 100);
    // SAFETY: the header is this test's alone.
    unsafe { header.set_timestamp(4) };
    activate(&header, 1);
    assert_fresh(&header, 1, 0);
}

//! Captures made by hand, and their packets.

/// Packet sizes around the ends of segments, of a chain, and of what networks carry.
pub(crate) const SIZES: [usize; 11] = [
    0, 1, 60, 2047, 2048, 2049, 9000, 65_535, 262_144, 262_145, 300_000,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) const BOTH: [Self; 2] = [Self::Little, Self::Big];

    pub(crate) fn half(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn word(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn words(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.word(value)).collect()
    }

    pub(crate) fn read(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes[at..at + 4].try_into().unwrap();
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// A frame of the given size: Ethernet, IPv4 and UDP as far as it goes, then bytes that differ.
pub(crate) fn frame(size: usize) -> Vec<u8> {
    let headers = [
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0,
        0, 1, 10, 0, 0, 2, 0x30, 0x39, 0, 53, 0, 26, 0, 0,
    ];
    let filler = (0..).map(|i: usize| (i * 31 + i / 251 + size) as u8);
    headers.into_iter().chain(filler).take(size).collect()
}

pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub(crate) const MODIFIED: u32 = 0xa1b2_cd34;

/// A pcap header with something unusual in every field.
pub(crate) fn classic_header(order: Order, magic: u32) -> Vec<u8> {
    let mut bytes = order.words(&[magic]);
    bytes.extend(order.half(2));
    bytes.extend(order.half(4));
    let time_zone = (-3600_i32).cast_unsigned();
    let link_type_with_checksum_length = 0x1400_0001;
    bytes.extend(order.words(&[time_zone, 7, 1000, link_type_with_checksum_length]));
    bytes
}

/// A record whose numbers need not make sense: those are kept as well.
pub(crate) fn classic_record(order: Order, numbers: [u32; 3], data: &[u8]) -> Vec<u8> {
    let [seconds, fraction, original] = numbers;
    let mut bytes = order.words(&[seconds, fraction, data.len() as u32, original]);
    bytes.extend(data);
    bytes
}

pub(crate) fn classic(order: Order, magic: u32) -> Vec<u8> {
    let mut bytes = classic_header(order, magic);
    for (index, size) in SIZES.into_iter().enumerate() {
        let index = index as u32;
        let numbers = [1_700_000_000 + index, 999_000 + 1000 * index, size as u32];
        bytes.extend(classic_record(order, numbers, &frame(size)));
    }
    bytes.extend(classic_record(order, [u32::MAX, u32::MAX, 3], &frame(100)));
    bytes.extend(classic_record(order, [0, 0, u32::MAX], &[0xff; 33]));
    bytes
}

pub(crate) const SECTION: u32 = 0x0a0d_0d0a;

pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let size = padded as u32 + 12;
    let mut bytes = order.words(&[kind, size]);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(order.word(size));
    bytes
}

pub(crate) fn section(order: Order, length: u32) -> Vec<u8> {
    let mut body = order.words(&[0x1a2b_3c4d]);
    body.extend(order.half(1));
    body.extend(order.half(0));
    let halves = match order {
        Order::Little => [length, if length == u32::MAX { u32::MAX } else { 0 }],
        Order::Big => [if length == u32::MAX { u32::MAX } else { 0 }, length],
    };
    body.extend(order.words(&halves));
    block(order, SECTION, &body)
}

pub(crate) fn interface(order: Order, link_type: u16, snap_len: u32, resolution: u8) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(order.half(link_type));
    body.extend(order.half(0));
    body.extend(order.word(snap_len));
    body.extend(order.half(9));
    body.extend(order.half(1));
    body.extend([resolution, 0, 0, 0]);
    body.extend(order.word(0));
    block(order, 1, &body)
}

pub(crate) fn enhanced(
    order: Order,
    interface: u32,
    time: u64,
    original: u32,
    data: &[u8],
) -> Vec<u8> {
    let (high, low) = ((time >> 32) as u32, time as u32);
    let mut body = order.words(&[interface, high, low, data.len() as u32, original]);
    body.extend(data);
    block(order, 6, &body)
}

/// A section with two interfaces, and a packet of each size on each.
pub(crate) fn ng_section(order: Order) -> Vec<u8> {
    let mut bytes = section(order, u32::MAX);
    bytes.extend(interface(order, 1, 0, 9));
    bytes.extend(interface(order, 101, 0, 0x80 | 20));
    for (index, size) in SIZES.into_iter().enumerate() {
        let time = 0x0123_4567_89ab_cdef + index as u64;
        let original = size as u32 + 5;
        bytes.extend(enhanced(order, 0, time, original, &frame(size)));
        bytes.extend(enhanced(
            order,
            1,
            time,
            original,
            &frame(size)[size.min(14)..],
        ));
    }
    bytes
}

/// What is kept of a packet of a pcapng.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) section: usize,
    pub(crate) interface: u32,
    pub(crate) time: Option<[u32; 2]>,
    pub(crate) original: u32,
    pub(crate) data: Vec<u8>,
}

/// The packets of a pcapng of ours, read without any help.
pub(crate) fn packets(bytes: &[u8]) -> Vec<Packet> {
    let (mut found, mut at, mut section, mut order) = (Vec::new(), 0, 0, Order::Little);
    while at < bytes.len() {
        if bytes[at..at + 4] == [0x0a, 0x0d, 0x0d, 0x0a] {
            order = if bytes[at + 8] == 0x1a {
                Order::Big
            } else {
                Order::Little
            };
            section += 1;
        }
        let word = |index: usize| order.read(bytes, at + 4 * index);
        let data = |index: usize, len: u32| {
            let begin = at + 4 * index;
            bytes[begin..begin + len as usize].to_vec()
        };
        let (interface, time, original, data) = match word(0) {
            2 => {
                let interface = match order {
                    Order::Big => word(2) >> 16,
                    Order::Little => word(2) & 0xffff,
                };
                (
                    interface,
                    Some([word(3), word(4)]),
                    word(6),
                    data(7, word(5)),
                )
            }
            3 => (0, None, word(2), data(3, word(2).min(40))),
            6 => (word(2), Some([word(3), word(4)]), word(6), data(7, word(5))),
            _ => {
                at += word(1) as usize;
                continue;
            }
        };
        at += word(1) as usize;
        found.push(Packet {
            section,
            interface,
            time,
            original,
            data,
        });
    }
    found
}

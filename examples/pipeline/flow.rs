//! Which flow a packet belongs to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// What a flow's packets have in common, as bytes so that it fits in an mbuf's user area.
///
/// | bytes | of an IP packet | of another one |
/// |---|---|---|
/// | 0 | 2 | 1: it has an ethertype; 0: it has not |
/// | 1 | protocol number | |
/// | 2..4 | source port, 0 without | the ethertype, or the upper half of the link type |
/// | 4..6 | destination port, 0 without | the lower half of the link type |
/// | 6..22, 22..38 | source and destination, IPv4 mapped into IPv6 | |
///
/// Numbers are big-endian, what is not used is 0. The two directions of a conversation are two flows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FlowKey([u8; FlowKey::SIZE]);

const BY_LINK_TYPE: u8 = 0;
const BY_ETHER_TYPE: u8 = 1;
const BY_ADDRESSES: u8 = 2;

/// Link types, as pcap numbers them.
mod link_type {
    pub(super) const NULL: u32 = 0;
    pub(super) const ETHERNET: u32 = 1;
    /// `DLT_RAW` in files whose writer did not translate it.
    pub(super) const RAW_OF_BSD: u32 = 12;
    pub(super) const RAW_OF_OPENBSD: u32 = 14;
    pub(super) const RAW: u32 = 101;
    pub(super) const LOOP: u32 = 108;
    pub(super) const LINUX_SLL: u32 = 113;
    pub(super) const IPV4: u32 = 228;
    pub(super) const IPV6: u32 = 229;
    pub(super) const LINUX_SLL2: u32 = 276;
}

impl FlowKey {
    /// How many bytes a key has.
    pub(crate) const SIZE: usize = 38;
    /// For what is no packet.
    pub(crate) const NONE: Self = Self([0; Self::SIZE]);

    /// The key of a packet from an interface of that link type.
    pub(crate) fn of(link: u32, packet: &[u8]) -> Self {
        match link {
            link_type::ETHERNET => match LaxSlicedPacket::from_ethernet(packet) {
                Ok(sliced) => Self::of_sliced(&sliced, link),
                Err(_) => Self::by_link_type(link),
            },
            link_type::LINUX_SLL => Self::of_cooked(packet, 14, 16, link),
            link_type::LINUX_SLL2 => Self::of_cooked(packet, 0, 20, link),
            link_type::NULL | link_type::LOOP => Self::of_ip(packet.get(4..), link),
            link_type::RAW
            | link_type::RAW_OF_BSD
            | link_type::RAW_OF_OPENBSD
            | link_type::IPV4
            | link_type::IPV6 => Self::of_ip(Some(packet), link),
            _ => Self::by_link_type(link),
        }
    }

    /// The key that these bytes hold.
    pub(crate) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    pub(crate) fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// A "cooked" packet of Linux has its ethertype at one place and its payload at another.
    fn of_cooked(packet: &[u8], ether_type_at: usize, payload_at: usize, link: u32) -> Self {
        let Some(payload) = packet.get(payload_at..) else {
            return Self::by_link_type(link);
        };
        let ether_type = u16::from_be_bytes([packet[ether_type_at], packet[ether_type_at + 1]]);
        Self::of_sliced(
            &LaxSlicedPacket::from_ether_type(EtherType(ether_type), payload),
            link,
        )
    }

    fn of_ip(packet: Option<&[u8]>, link: u32) -> Self {
        match packet.map(LaxSlicedPacket::from_ip) {
            Some(Ok(sliced)) => Self::of_sliced(&sliced, link),
            _ => Self::by_link_type(link),
        }
    }

    fn of_sliced(sliced: &LaxSlicedPacket<'_>, link: u32) -> Self {
        let (source, destination, protocol): (IpAddr, IpAddr, _) = match &sliced.net {
            Some(LaxNetSlice::Ipv4(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
                ip.payload().ip_number,
            ),
            Some(LaxNetSlice::Ipv6(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
                ip.payload().ip_number,
            ),
            Some(LaxNetSlice::Arp(_)) | None => {
                return match sliced.ether_payload() {
                    Some(payload) => Self::by_ether_type(payload.ether_type),
                    None => Self::by_link_type(link),
                };
            }
        };
        let (from, to) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
            Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
            _ => (0, 0),
        };
        Self::by_addresses(
            protocol,
            SocketAddr::new(source, from),
            SocketAddr::new(destination, to),
        )
    }

    fn by_link_type(link: u32) -> Self {
        let mut key = [0; Self::SIZE];
        key[0] = BY_LINK_TYPE;
        key[2..6].copy_from_slice(&link.to_be_bytes());
        Self(key)
    }

    fn by_ether_type(ether_type: EtherType) -> Self {
        let mut key = [0; Self::SIZE];
        key[0] = BY_ETHER_TYPE;
        key[2..4].copy_from_slice(&ether_type.0.to_be_bytes());
        Self(key)
    }

    fn by_addresses(protocol: IpNumber, source: SocketAddr, destination: SocketAddr) -> Self {
        let mut key = [0; Self::SIZE];
        key[0] = BY_ADDRESSES;
        key[1] = protocol.0;
        key[2..4].copy_from_slice(&source.port().to_be_bytes());
        key[4..6].copy_from_slice(&destination.port().to_be_bytes());
        key[6..22].copy_from_slice(&mapped(source.ip()).octets());
        key[22..38].copy_from_slice(&mapped(destination.ip()).octets());
        Self(key)
    }

    fn number(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    fn endpoint(&self, port_at: usize, address_at: usize) -> Endpoint {
        let mut octets = [0; 16];
        octets.copy_from_slice(&self.0[address_at..address_at + 16]);
        Endpoint(Ipv6Addr::from(octets).to_canonical(), self.number(port_at))
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// An address, with its port if there is one.
struct Endpoint(IpAddr, u16);

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(address, 0) => address.fmt(f),
            Self(address, port) => SocketAddr::new(address, port).fmt(f),
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0[0] {
            BY_ADDRESSES => {
                match IpNumber(self.0[1]) {
                    IpNumber::TCP => f.write_str("tcp"),
                    IpNumber::UDP => f.write_str("udp"),
                    IpNumber::ICMP => f.write_str("icmp"),
                    IpNumber::IPV6_ICMP => f.write_str("icmpv6"),
                    IpNumber(other) => write!(f, "ip protocol {other}"),
                }?;
                write!(f, " {} -> {}", self.endpoint(2, 6), self.endpoint(4, 22))
            }
            BY_ETHER_TYPE => match EtherType(self.number(2)) {
                EtherType::ARP => f.write_str("arp"),
                EtherType(other) => write!(f, "ethertype {other:#06x}"),
            },
            _ => write!(
                f,
                "link type {}",
                u32::from(self.number(2)) << 16 | u32::from(self.number(4))
            ),
        }
    }
}

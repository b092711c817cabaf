//! Two smoltcp stacks, joined back to back by queues of mbufs.
//!
//! A packet is an mbuf of the pool from the token that it is written through to the token that it is read through, and the sockets'
//! buffers are data of mbufs, too. A device whose pool is exhausted, or whose queue is full, has no token to send by: the stack tries
//! again when it is polled next. A packet that comes when there is no memory for an answer is lost, as on any busy network, and TCP
//! sends it again.

use bytes::Buf;
use mbuf::{Mbuf, Pool, Writer};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::rc::Rc;

/// Bytes of a packet at most.
pub const MTU: usize = 1500;
/// Packets on their way at most.
const QUEUE: usize = 64;
/// Bytes of a socket's buffer.
const BUFFER: usize = 64 << 10;
const PORT: u16 = 7;
/// Addresses of the client and of the server.
const ADDRESSES: [IpAddress; 2] = [IpAddress::v4(192, 0, 2, 1), IpAddress::v4(192, 0, 2, 2)];

type Queue = Rc<RefCell<VecDeque<Mbuf>>>;

/// An end of a wire.
#[derive(Debug)]
pub struct Device {
    pool: Pool,
    incoming: Queue,
    outgoing: Queue,
    refused: u64,
    lost: u64,
}

impl Device {
    /// Both ends of a wire whose packets are mbufs of `pool`.
    pub fn pair(pool: &Pool) -> [Self; 2] {
        let queues = [Queue::default(), Queue::default()];
        let end = |incoming: &Queue, outgoing: &Queue| Self {
            pool: pool.clone(),
            incoming: incoming.clone(),
            outgoing: outgoing.clone(),
            refused: 0,
            lost: 0,
        };
        [end(&queues[0], &queues[1]), end(&queues[1], &queues[0])]
    }

    fn sender(&self) -> Option<Sender> {
        Some(Sender {
            packet: self.pool.alloc(MTU).ok()?,
            outgoing: self.outgoing.clone(),
        })
    }

    /// How often there was no mbuf to send by.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Packets lost because they could not have been answered.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sender;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sender)> {
        loop {
            if self.incoming.borrow().is_empty() {
                return None;
            }
            // For what may have to be answered. However full the queue is: a packet less is on its way.
            if let Some(sender) = self.sender() {
                let packet = self.incoming.borrow_mut().pop_front()?;
                return Some((Received(packet), sender));
            }
            // If it stayed where it is, two devices could wait for the mbufs in each other's queues. The last: what TCP waits for is in
            // front.
            self.incoming.borrow_mut().pop_back();
            self.lost += 1;
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender> {
        if self.outgoing.borrow().len() >= QUEUE {
            return None;
        }
        let sender = self.sender();
        self.refused += u64::from(sender.is_none());
        sender
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// A packet that has come.
#[derive(Debug)]
pub struct Received(Mbuf);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0.data())
    }
}

/// An mbuf for a packet to send. It is freed if there is none.
#[derive(Debug)]
pub struct Sender {
    packet: Mbuf,
    outgoing: Queue,
}

impl phy::TxToken for Sender {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, len: usize, write: F) -> R {
        // This writes zeros: the stack is lent bytes, not room.
        let grown = self.packet.set_len(len).is_ok();
        let bytes = grown.then(|| self.packet.data_mut()).flatten();
        let Some(bytes) = bytes else {
            unreachable!("a packet is no longer than the MTU, and its mbuf ours alone")
        };
        let done = write(bytes);
        self.outgoing.borrow_mut().push_back(self.packet);
        done
    }
}

/// What an echo came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echoed {
    /// Bytes that came back.
    pub bytes: usize,
    /// How often a device had no mbuf to send by.
    pub refused: u64,
    /// Packets lost for that reason.
    pub lost: u64,
    /// Mbufs allocated.
    pub allocs: u64,
}

impl fmt::Display for Echoed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes echoed through {} mbufs; {} times there was none to send by, and {} packets were lost",
            self.bytes, self.allocs, self.refused, self.lost
        )
    }
}

/// An interface with one socket.
struct Host<'a> {
    interface: Interface,
    device: Device,
    sockets: SocketSet<'a>,
    handle: SocketHandle,
}

impl<'a> Host<'a> {
    fn new(mut device: Device, address: IpAddress, buffers: &'a mut [Mbuf; 2]) -> Self {
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::new(address, 24));
            debug_assert!(added.is_ok(), "the first of an interface");
        });
        let [incoming, outgoing] = buffers.each_mut().map(|buffer| {
            let bytes = buffer.data_mut().unwrap_or_default();
            tcp::SocketBuffer::new(bytes)
        });
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(tcp::Socket::new(incoming, outgoing));
        Self {
            interface,
            device,
            sockets,
            handle,
        }
    }

    fn poll(&mut self, now: Instant) {
        self.interface
            .poll(now, &mut self.device, &mut self.sockets);
    }

    fn socket(&mut self) -> &mut tcp::Socket<'a> {
        self.sockets.get_mut(self.handle)
    }
}

/// Sends `message` from one stack to another by TCP, which sends it back, with packets and sockets' buffers of `pool`. Returns what came
/// back, in mbufs of the message's own pool.
///
/// Time is virtual: a millisecond for each turn.
///
/// # Errors
/// When one of the pools has no memory to begin with, or a stack refuses, or what is to come back does not.
pub fn echo(pool: &Pool, message: &Mbuf) -> Result<(Mbuf, Echoed), Box<dyn Error>> {
    const TURNS: i64 = 1_000_000;
    let buffer = || pool.alloc_zeroed(BUFFER);
    let mut buffers = [[buffer()?, buffer()?], [buffer()?, buffer()?]];
    let [client_buffers, server_buffers] = &mut buffers;
    let [client_device, server_device] = Device::pair(pool);
    let mut client = Host::new(client_device, ADDRESSES[0], client_buffers);
    let mut server = Host::new(server_device, ADDRESSES[1], server_buffers);
    server.socket().listen(PORT)?;
    let context = client.interface.context();
    let socket = client.sockets.get_mut::<tcp::Socket<'_>>(client.handle);
    socket.connect(context, (ADDRESSES[1], PORT), 49152)?;

    let mut unsent = message.cursor();
    let mut returned = message.sibling(0)?.into_writer(crate::SEGMENT);
    for turn in 0..TURNS {
        let now = Instant::from_millis(turn);
        client.poll(now);
        send_from(client.socket(), &mut unsent)?;
        receive_to(client.socket(), &mut returned)?;
        server.poll(now);
        send_back(server.socket(), pool)?;
        if !client.socket().is_open() {
            let returned = returned.into_mbuf();
            let echoed = Echoed {
                bytes: returned.total_len(),
                refused: client.device.refused() + server.device.refused(),
                lost: client.device.lost() + server.device.lost(),
                allocs: pool.stats().allocs,
            };
            return Ok((returned, echoed));
        }
    }
    Err("the stacks got stuck".into())
}

/// Hands over what the socket takes, and the end.
fn send_from(
    socket: &mut tcp::Socket<'_>,
    unsent: &mut mbuf::Cursor<'_>,
) -> Result<(), tcp::SendError> {
    while socket.can_send() && unsent.has_remaining() {
        socket.send(|room| {
            let part = room.len().min(unsent.remaining());
            unsent.copy_to_slice(&mut room[..part]);
            (part, ())
        })?;
    }
    if socket.may_send() && !unsent.has_remaining() {
        socket.close();
    }
    Ok(())
}

/// Takes what there is memory for; the rest stays in the socket, and its sender is told.
fn receive_to(socket: &mut tcp::Socket<'_>, writer: &mut Writer) -> Result<(), tcp::RecvError> {
    if !socket.can_recv() {
        return Ok(());
    }
    socket.recv(|bytes| match writer.write_bytes(bytes) {
        Ok(()) => (bytes.len(), ()),
        Err((written, _)) => (written, ()),
    })
}

/// Sends back what has come, through an mbuf, and the end.
fn send_back(socket: &mut tcp::Socket<'_>, pool: &Pool) -> Result<(), Box<dyn Error>> {
    let room = MTU.min(socket.send_capacity() - socket.send_queue());
    if socket.can_recv() && room > 0 {
        let Ok(mut between) = pool.alloc(room) else {
            return Ok(());
        };
        socket.recv(|bytes| {
            let part = bytes.len().min(room);
            let taken = between.extend_from_slice(&bytes[..part]);
            debug_assert!(taken.is_ok(), "its capacity is the room");
            (part, ())
        })?;
        let mut unsent = between.cursor();
        while unsent.has_remaining() {
            socket.send(|room| {
                let part = room.len().min(unsent.remaining());
                unsent.copy_to_slice(&mut room[..part]);
                (part, ())
            })?;
        }
    }
    if socket.may_send() && !socket.may_recv() && !socket.can_recv() {
        socket.close();
    }
    Ok(())
}

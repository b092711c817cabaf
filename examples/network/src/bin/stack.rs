//! Two smoltcp stacks that echo a message by TCP, in mbufs: see `mbuf_network::stack`.

use mbuf::Pool;
use mbuf_network::{SEGMENT, stack};
use std::error::Error;

/// Bytes of the message.
const MESSAGE: usize = 2 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let messages = Pool::builder().capacity(16 << 20).build()?;
    let packets = Pool::builder().capacity(1 << 20).build()?;
    let mut writer = messages.alloc(SEGMENT)?.into_writer(SEGMENT);
    writer.extend((0..MESSAGE).map(|i| (i % 251) as u8));
    let message = writer.finish()?;
    let (returned, echoed) = stack::echo(&packets, &message)?;
    println!("{echoed}");
    if returned != message {
        return Err("something else came back".into());
    }
    Ok(())
}

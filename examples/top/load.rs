//! Work for the pool to show: packets that are kept for a while, and large buffers that exhaust the pool now and then.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mbuf::{Mbuf, Pool};

/// Sizes as they come: acknowledgements mostly, frames, and jumbo frames at times.
const PACKETS: [usize; 8] = [64, 64, 1500, 64, 576, 1500, 9000, 1500];
const BURST: usize = 256;
/// Between bursts, so that the work leaves the processor to others.
const PAUSE: Duration = Duration::from_micros(500);
/// How many packets are kept: between these.
const KEPT: (f64, f64) = (500.0, 6000.0);
/// How long a swing from few to many and back takes, in seconds.
const SWING: f64 = 6.0;

const LARGE: usize = 60_000;
const SPAN: usize = 2 << 20;

/// The threads at work.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts to work.
    pub(crate) fn start(pool: &Pool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(4 * BURST);
        let beside = || (pool.clone(), Arc::clone(&stop));
        let (first, second) = (beside(), beside());
        let threads = vec![
            thread::spawn(move || receive(&first.0, &first.1, &sender)),
            thread::spawn(move || keep(&receiver)),
            thread::spawn(move || take_large(&second.0, &second.1)),
        ];
        Self { stop, threads }
    }

    /// Stops, and gives all of it back.
    pub(crate) fn stop(self) {
        // Relaxed: nothing but the threads' end depends on it, and they are joined.
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the load does not panic");
        }
    }
}

/// Whether to go on. Relaxed: pairs with the store in [`Load::stop`], which hands nothing on.
fn goes_on(stop: &AtomicBool) -> bool {
    !stop.load(Ordering::Relaxed)
}

/// Makes packets, some with a copy. What an exhausted pool has no room for is lost, as on a network card.
fn receive(pool: &Pool, stop: &AtomicBool, sender: &SyncSender<Mbuf>) {
    let pool = pool.local();
    while goes_on(stop) {
        for size in PACKETS.into_iter().cycle().take(BURST) {
            let Ok(mut packet) = pool.alloc(size) else {
                continue;
            };
            packet.user_mut()[0] = 1;
            let copy = (size == 576).then(|| packet.copy_ref());
            for mbuf in [Some(packet), copy.and_then(Result::ok)]
                .into_iter()
                .flatten()
            {
                if sender.send(mbuf).is_err() {
                    return;
                }
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Keeps packets, more and then fewer, until nobody sends any.
fn keep(receiver: &Receiver<Mbuf>) {
    let start = Instant::now();
    let mut kept = VecDeque::new();
    for packet in receiver {
        kept.push_back(packet);
        while kept.len() > swing(start, KEPT) as usize {
            kept.pop_front();
        }
    }
}

/// Between `least` and `most`, to and fro as time goes by.
fn swing(start: Instant, (least, most): (f64, f64)) -> f64 {
    let turn = start.elapsed().as_secs_f64() / SWING * std::f64::consts::TAU;
    least + (most - least) * (1.0 - turn.cos()) / 2.0
}

/// Takes large buffers until the pool is exhausted, gives most of them back one by one, and so on.
fn take_large(pool: &Pool, stop: &AtomicBool) {
    let mut held = Vec::new();
    let mut is_growing = true;
    while goes_on(stop) {
        if is_growing {
            match pool.alloc(if held.len() % 16 == 0 { SPAN } else { LARGE }) {
                Ok(large) => held.push(large),
                Err(_) => is_growing = false,
            }
        } else {
            held.pop();
            is_growing = held.len() < 32;
        }
        thread::sleep(Duration::from_millis(8));
    }
}

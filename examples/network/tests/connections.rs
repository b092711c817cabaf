//! Proxy and file server within the test, where their pools can be seen: back-pressure, half-closed and broken connections.

mod common;

use common::{Directory, MEBIBYTE, Task, content, eventually, memory};
use mbuf_network::files::{Contents, Files};
use mbuf_network::proxy::{Limits, Proxy};
use mbuf_network::{Memory, SEGMENT};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const LIMITS: Limits = Limits {
    segment: SEGMENT,
    segments: 8,
    send_buffer: Some(64 << 10),
};
const READ: Contents = Contents::Read {
    segment: SEGMENT,
    segments: 8,
};
const CONTENTS: [Contents; 2] = [READ, Contents::Map];

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

async fn start_proxy(to: SocketAddr, memory: &Memory) -> (SocketAddr, Task) {
    let proxy = Proxy::bind(any_port(), to, memory.clone(), LIMITS);
    let proxy = proxy.unwrap();
    let address = proxy.address().unwrap();
    (address, Task::start(|stop| proxy.run_until(stop)))
}

async fn start_files(root: &Path, memory: &Memory, contents: Contents) -> (SocketAddr, Task) {
    let files = Files::bind(
        any_port(),
        root.to_owned(),
        memory.clone(),
        contents,
        LIMITS.send_buffer,
    );
    let files = files.unwrap();
    let address = files.address().unwrap();
    (address, Task::start(|stop| files.run_until(stop)))
}

/// A connection whose receiver takes little at a time, so that the sender's side fills up.
async fn connect_narrow(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(to).await.unwrap()
}

async fn ask(stream: &mut TcpStream, name: &str) {
    let request = format!("GET /{name} HTTP/1.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
}

async fn in_use_again_none(memory: &Memory) {
    let pool = memory.pool().clone();
    eventually("all mbufs home", move || pool.stats().in_use == 0).await;
}

/// Of a file server with a pool of `capacity`, through a proxy with one of a mebibyte. Returns how often both waited.
async fn serve_fifty(capacity: usize) -> (u64, u64) {
    let directory = Directory::new(&format!("at-once-{capacity}"));
    directory.add("file", MEBIBYTE);
    let expected = content(MEBIBYTE);
    let (file_memory, proxy_memory) = (memory(capacity), memory(MEBIBYTE));
    let (at, files) = start_files(directory.path(), &file_memory, READ).await;
    let (at, proxy) = start_proxy(at, &proxy_memory).await;
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = connect_narrow(at).await;
        ask(&mut stream, "file").await;
        streams.push(stream);
    }
    // Nobody has read anything: one of the pools is full.
    let both = [file_memory.clone(), proxy_memory.clone()];
    eventually("exhausted", move || {
        both.iter().any(|memory| memory.waits() > 0)
    })
    .await;
    let readers = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.map(|_| answer)
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        let answer = reader.await.unwrap().unwrap();
        assert!(answer.ends_with(&expected));
    }
    in_use_again_none(&proxy_memory).await;
    in_use_again_none(&file_memory).await;
    assert_eq!(proxy.stop().await.broken, 0);
    assert_eq!(files.stop().await.broken, 0);
    (file_memory.waits(), proxy_memory.waits())
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_connections_wait_for_memory_of_the_proxy_and_lose_nothing() {
    let (_, waits) = serve_fifty(32 * MEBIBYTE).await;
    assert!(waits > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_connections_wait_for_memory_of_the_file_server_and_lose_nothing() {
    let (waits, _) = serve_fifty(MEBIBYTE).await;
    assert!(waits > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_resets_leaves_nothing_behind() {
    const CONNECTIONS: u64 = 20;
    let directory = Directory::new("resets");
    directory.add("file", 16 * MEBIBYTE);
    for contents in CONTENTS {
        let (file_memory, proxy_memory) = (memory(16 * MEBIBYTE), memory(16 * MEBIBYTE));
        let (at, files) = start_files(directory.path(), &file_memory, contents).await;
        let (at, proxy) = start_proxy(at, &proxy_memory).await;
        for connection in 0..CONNECTIONS {
            let mut stream = connect_narrow(at).await;
            ask(&mut stream, "file").await;
            let mut some = vec![0; 1000 * connection as usize + 1];
            stream.read_exact(&mut some).await.unwrap();
            stream.set_zero_linger().unwrap();
        }
        in_use_again_none(&proxy_memory).await;
        in_use_again_none(&file_memory).await;
        assert_eq!(proxy.stop().await.broken, CONNECTIONS);
        assert_eq!(files.stop().await.broken, CONNECTIONS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_in_the_middle_leaves_nothing_behind() {
    let directory = Directory::new("stopped");
    directory.add("file", 16 * MEBIBYTE);
    let (file_memory, proxy_memory) = (memory(16 * MEBIBYTE), memory(16 * MEBIBYTE));
    let (at, files) = start_files(directory.path(), &file_memory, READ).await;
    let (at, proxy) = start_proxy(at, &proxy_memory).await;
    let mut stream = connect_narrow(at).await;
    ask(&mut stream, "file").await;
    stream.read_exact(&mut [0; 1000]).await.unwrap();
    for memory in [&proxy_memory, &file_memory] {
        let pool = memory.pool().clone();
        eventually("in use", move || pool.stats().in_use > 0).await;
    }
    // While it may be reading still.
    files.stop().await;
    proxy.stop().await;
    let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

/// Takes one connection.
async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_of_data_is_passed_on_and_the_other_way_stays_open() {
    let listener = TcpListener::bind(any_port()).await.unwrap();
    let memory = memory(16 * MEBIBYTE);
    let (at, proxy) = start_proxy(listener.local_addr().unwrap(), &memory).await;
    let sent = content(3 * MEBIBYTE + 1);
    let echo = async {
        // Answers when all has come.
        let mut server = accept(&listener).await;
        let mut all = Vec::new();
        server.read_to_end(&mut all).await.unwrap();
        server.write_all(&all).await.unwrap();
    };
    let client = async {
        let mut client = TcpStream::connect(at).await.unwrap();
        client.write_all(&sent).await.unwrap();
        client.shutdown().await.unwrap();
        let mut returned = Vec::new();
        client.read_to_end(&mut returned).await.unwrap();
        returned
    };
    let ((), returned) = tokio::join!(echo, client);
    assert!(returned == sent);
    in_use_again_none(&memory).await;
    assert_eq!(proxy.stop().await.broken, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_does_not_look_like_an_ended_one() {
    let listener = TcpListener::bind(any_port()).await.unwrap();
    let to = listener.local_addr().unwrap();
    let memory = memory(16 * MEBIBYTE);
    let (at, proxy) = start_proxy(to, &memory).await;
    let mut client = TcpStream::connect(at).await.unwrap();
    let mut server = accept(&listener).await;
    server.write_all(b"some").await.unwrap();
    let mut some = [0; 4];
    client.read_exact(&mut some).await.unwrap();
    server.set_zero_linger().unwrap();
    drop(server);
    let error = client.read(&mut some).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);

    // And where nobody listens.
    drop(listener);
    let refused = async {
        // Even this may see the reset already.
        let mut client = TcpStream::connect(at).await?;
        client.read(&mut some).await
    };
    let error = refused.await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(proxy.stop().await.broken, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_may_come_before_their_turn_and_in_pieces() {
    const REQUESTS: usize = 300;
    let directory = Directory::new("pipelined");
    directory.add("file", 1000);
    let body = content(1000);
    for contents in CONTENTS {
        let memory = memory(16 * MEBIBYTE);
        let (at, files) = start_files(directory.path(), &memory, contents).await;
        let mut stream = TcpStream::connect(at).await.unwrap();
        let (mut reader, mut writer) = stream.split();
        let ask = async {
            let requests = "GET /file HTTP/1.1\r\nHost: here\r\n\r\n".repeat(REQUESTS);
            // Pieces end wherever they happen to.
            for piece in requests.as_bytes().chunks(1237) {
                writer.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            writer.shutdown().await.unwrap();
        };
        let mut answers = Vec::new();
        let ((), read) = tokio::join!(ask, reader.read_to_end(&mut answers));
        read.unwrap();
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nAccept-Ranges: bytes\r\n\r\n";
        let expected = [&head[..], &body].concat().repeat(REQUESTS);
        assert!(answers == expected);
        in_use_again_none(&memory).await;
        assert_eq!(files.stop().await.broken, 0);
    }
}

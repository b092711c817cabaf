//! Chains as bodies of hyper's: `Mbuf` is a `Buf`, and that is all that is asked of a body's data.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use mbuf::{Mbuf, Pool};
use std::convert::Infallible;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What a client gets that sends `request`, in mbufs from the handler to the socket.
async fn exchange(pool: Pool, request: &[u8]) -> Vec<u8> {
    let (mut client, server) = tokio::io::duplex(1000);
    let service = service_fn(move |request: Request<Incoming>| {
        let pool = pool.clone();
        async move { Ok::<_, Infallible>(answer(&pool, request).await) }
    });
    let serving = http1::Builder::new().serve_connection(TokioIo::new(server), service);
    let asking = async {
        client.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        answer
    };
    let (served, answer) = tokio::join!(serving, asking);
    served.unwrap();
    answer
}

/// Hands back the request's body: hyper's own bytes, wrapped and chained.
async fn answer(pool: &Pool, request: Request<Incoming>) -> Response<Full<Mbuf>> {
    let mut body = request.into_body();
    let mut chain = pool.alloc(16).unwrap();
    chain.extend_from_slice(b"returned: ").unwrap();
    while let Some(frame) = body.frame().await {
        let data: Bytes = frame.unwrap().into_data().unwrap();
        chain.append(pool.wrap(data).unwrap()).unwrap();
    }
    Response::new(Full::new(chain))
}

#[tokio::test]
async fn a_chain_is_a_body() {
    let pool = Pool::builder().capacity(16 << 20).build().unwrap();
    let body = "0123456789".repeat(5000);
    let request = format!(
        "POST / HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(pool.clone(), request.as_bytes()).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, returned) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains(&format!("content-length: {}", body.len() + 10)),
        "{head}"
    );
    assert!(returned.strip_prefix("returned: ") == Some(&body));
    assert_eq!(pool.stats().in_use, 0);
}

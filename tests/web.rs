//! A web server for one page: files of a folder, and what a test lays beside them, on this machine's own address.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

type Laid = Arc<Mutex<BTreeMap<String, PathBuf>>>;

/// Runs as long as the process.
pub struct Server {
    address: String,
    laid: Laid,
}

impl Server {
    /// Serves the files below `folder`.
    pub fn of(folder: &Path) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (folder, laid) = (folder.to_path_buf(), Laid::default());
        let shared = laid.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (folder, laid) = (folder.clone(), shared.clone());
                // A browser that closes early has what it wants.
                std::thread::spawn(move || drop(answer(stream, &folder, &laid)));
            }
        });
        Server { address, laid }
    }

    /// The address of a path that begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Lays a file beside those of the folder, and gives its address.
    pub fn lay(&self, path: &str, file: &Path) -> String {
        self.laid.lock().unwrap().insert(path.to_string(), file.to_path_buf());
        self.url(path)
    }
}

fn answer(stream: TcpStream, folder: &Path, laid: &Laid) -> std::io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default();
    let path = target.split(['?', '#']).next().unwrap_or_default().to_string();
    while line.trim_end() != "" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let named = laid.lock().unwrap().get(&path).cloned();
    let below = Path::new(path.trim_start_matches('/'));
    let inside = below.components().all(|part| matches!(part, Component::Normal(_)));
    let file = named.or_else(|| inside.then(|| folder.join(if path == "/" { Path::new("index.html") } else { below })));
    let mut out = &stream;
    match file.and_then(|file| Some((kind(&file), std::fs::read(file).ok()?))) {
        Some((kind, body)) => {
            write!(out, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", body.len())?;
            write!(out, "Connection: close\r\n\r\n")?;
            out.write_all(&body)
        }
        None => write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

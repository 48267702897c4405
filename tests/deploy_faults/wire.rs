//! A wire between the program and the embedded CloudFormation on which something happens at one
//! request with an effect: it is numbered, and everything up to it arrives as usual.

#![allow(unreachable_pub, reason = "every file of this test uses its part of this")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The program is killed before it arrives.
    KillBefore,
    /// The program is killed after it was carried out, before it is answered.
    KillAfter,
    /// The program is interrupted before it arrives; it is carried out and answered.
    InterruptBefore,
    /// The program is interrupted after it was carried out; it is answered.
    InterruptAfter,
    /// The connection is lost before it arrives.
    LoseRequest,
    /// The connection is lost after it was carried out.
    LoseAnswer,
    /// It is throttled, and so are those after it: as often as this.
    Throttle(usize),
    /// From then on no request arrives.
    Down,
}

/// What happens, and at which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    pub at: usize,
    pub trouble: Trouble,
    pub of: Of,
}

/// Which requests are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Those with an effect.
    Effects,
    /// All of them.
    Requests,
}

/// What is known of a program on the wire.
#[derive(Default)]
struct Watched {
    process: Option<u32>,
    trap: Option<Trap>,
    requests: usize,
    effects: Vec<String>,
}

/// The wire.
pub struct Wire {
    address: SocketAddr,
    watched: Arc<Mutex<Watched>>,
}

impl Wire {
    /// Lays a wire to a server. It ends with the process of the test.
    pub fn to(url: &str) -> Self {
        let server: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let watched = Arc::new(Mutex::new(Watched::default()));
        let shared = Arc::clone(&watched);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let shared = Arc::clone(&shared);
                // A connection that breaks is the end of it, and that is all.
                std::thread::spawn(move || {
                    client.and_then(|client| serve(client, server, &shared))
                });
            }
        });
        Self { address, watched }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Begins anew with what is to happen to the next program.
    pub fn set(&self, trap: Option<Trap>) {
        *self.watched.lock().unwrap() = Watched { trap, ..Watched::default() };
    }

    /// Names the program to which it happens.
    pub fn watch(&self, process: u32) {
        self.watched.lock().unwrap().process = Some(process);
    }

    /// How many requests have come so far.
    pub fn requests(&self) -> usize {
        self.watched.lock().unwrap().requests
    }

    /// The requests with an effect that have come so far.
    pub fn effects(&self) -> Vec<String> {
        self.watched.lock().unwrap().effects.clone()
    }
}

/// Carries the requests of a connection.
fn serve(client: TcpStream, server: SocketAddr, watched: &Mutex<Watched>) -> std::io::Result<()> {
    let host = format!("host: {server}\r\n");
    let server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut to_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
    loop {
        let Some(request) = message(&mut client, Some(&host), true)? else { return Ok(()) };
        let trouble = trouble_at(&request, watched);
        match trouble {
            Some(Trouble::KillBefore) => {
                signal(watched, "KILL");
                return Ok(());
            }
            Some(Trouble::LoseRequest | Trouble::Down) => return Ok(()),
            Some(Trouble::InterruptBefore) => signal(watched, "INT"),
            Some(Trouble::Throttle(_)) => {
                to_client.write_all(&throttled())?;
                continue;
            }
            _ => {}
        }
        to_server.write_all(&request)?;
        // To a question for the head only, the head is the answer.
        let has_body = !request.starts_with(b"HEAD ");
        let Some(answer) = message(&mut server, None, has_body)? else { return Ok(()) };
        match trouble {
            Some(Trouble::KillAfter) => {
                signal(watched, "KILL");
                return Ok(());
            }
            Some(Trouble::LoseAnswer) => return Ok(()),
            Some(Trouble::InterruptAfter) => signal(watched, "INT"),
            _ => {}
        }
        to_client.write_all(&answer)?;
    }
}

/// Numbers a request; says what happens at it.
fn trouble_at(request: &[u8], watched: &Mutex<Watched>) -> Option<Trouble> {
    let action = action(request);
    let mut watched = watched.lock().unwrap();
    watched.requests += 1;
    let has_effect = action.is_some();
    watched.effects.extend(action);
    let trap = watched.trap?;
    let at = match trap.of {
        Of::Effects => watched.effects.len(),
        Of::Requests => watched.requests,
    };
    let is_at = match trap.trouble {
        Trouble::Down => at >= trap.at,
        _ if trap.of == Of::Effects && !has_effect => false,
        Trouble::Throttle(times) => (trap.at..trap.at + times).contains(&at),
        _ => trap.at == at,
    };
    is_at.then_some(trap.trouble)
}

/// The operation, if it has an effect.
fn action(request: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(request);
    if text.starts_with("PUT ") {
        return Some("PutObject".to_owned());
    }
    let found = text.split(['&', '\n', '?']).find_map(|part| part.strip_prefix("Action="))?;
    let verbs = ["Create", "Execute", "Delete", "Update", "Set"];
    verbs.iter().any(|verb| found.starts_with(verb)).then(|| found.to_owned())
}

fn signal(watched: &Mutex<Watched>, name: &str) {
    let process = loop {
        if let Some(process) = watched.lock().unwrap().process {
            break process;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let done = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(done.unwrap().success());
    // Until the program has seen it.
    std::thread::sleep(Duration::from_millis(40));
}

fn throttled() -> Vec<u8> {
    let body = "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code>\
                <Message>Rate exceeded</Message></Error><RequestId>1</RequestId></ErrorResponse>";
    let length = body.len();
    format!("HTTP/1.1 400 Bad Request\r\ncontent-type: text/xml\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Reads a request or an answer as it is, but for another host; nothing at the end of the
/// connection.
fn message(
    from: &mut BufReader<TcpStream>,
    host: Option<&str>,
    has_body: bool,
) -> std::io::Result<Option<Vec<u8>>> {
    let (mut all, mut length, mut chunked) = (Vec::new(), 0, false);
    loop {
        let begin = all.len();
        if from.read_until(b'\n', &mut all)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&all[begin..]).trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(host) = host.filter(|_| line.starts_with("host:")) {
            all.truncate(begin);
            all.extend(host.as_bytes());
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
    }
    if !has_body {
        return Ok(Some(all));
    }
    if !chunked {
        let begin = all.len();
        all.resize(begin + length, 0);
        from.read_exact(&mut all[begin..])?;
        return Ok(Some(all));
    }
    loop {
        let begin = all.len();
        from.read_until(b'\n', &mut all)?;
        let size = String::from_utf8_lossy(&all[begin..]).trim().to_owned();
        let size = usize::from_str_radix(size.split(';').next().unwrap(), 16).unwrap();
        let begin = all.len();
        all.resize(begin + size + 2, 0);
        from.read_exact(&mut all[begin..])?;
        if size == 0 {
            return Ok(Some(all));
        }
    }
}

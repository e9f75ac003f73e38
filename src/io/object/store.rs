//! A client of one bucket, container or server, configured by the environment and cached with its
//! connections for later opens. Each step of a request has a timeout.
#![forbid(unsafe_code)]

use super::name::{Name, Scheme};
use super::opened::OpenedScope;
use super::{message, runtime};
use crate::error::{Error, Result};
use crate::options::{Opt, Options};
use crate::os;
use crate::parallel::try_lock;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3CopyIfNotExists};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{ClientConfigKey, ClientOptions};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, ObjectMeta, ObjectStore, RetryConfig};
use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum number of cached clients.
const MAX_STORES: usize = 16;

/// Timeout, retries and concurrency of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Time without any response, including retries, after which a request fails.
    pub timeout: Duration,
    /// Number of times that a request is repeated.
    pub retries: usize,
    /// Number of concurrent requests of one call.
    pub requests: usize,
}

impl RequestLimits {
    /// Reads the limits from options.
    pub fn of(options: &Options) -> RequestLimits {
        RequestLimits {
            timeout: Duration::from_millis(options.get(Opt::CloudTimeout, 30_000) as u64),
            retries: options.get(Opt::CloudRetries, 5) as usize,
            requests: options.requests(),
        }
    }

    fn retry(&self) -> RetryConfig {
        let backoff = BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: self.timeout / 4,
            base: 2.,
        };
        RetryConfig {
            backoff,
            max_retries: self.retries,
            retry_timeout: self.timeout,
        }
    }

    /// Returns client settings: a response may take any time as long as bytes arrive.
    fn client(&self) -> [(ClientConfigKey, String); 3] {
        let ms = |d: Duration| format!("{} ms", d.as_millis().max(1));
        [
            (ClientConfigKey::Timeout, "1 day".into()),
            (ClientConfigKey::ReadTimeout, ms(self.timeout / 2)),
            (
                ClientConfigKey::ConnectTimeout,
                ms((self.timeout / 2).min(Duration::from_secs(5))),
            ),
        ]
    }
}

thread_local!(static LIMITS: Cell<Option<RequestLimits>> = const { Cell::new(None) });

/// Applies request limits to this thread until dropped, and remembers the objects that it opens.
pub struct RequestScope {
    before: Option<RequestLimits>,
    _opened: OpenedScope,
}

/// Applies these options to the stores that this thread opens from here on: names are mapped to
/// storage far below the calls that have options.
pub fn request_scope(options: &Options) -> RequestScope {
    RequestScope {
        before: LIMITS.replace(Some(RequestLimits::of(options))),
        _opened: OpenedScope::new(),
    }
}

impl Drop for RequestScope {
    fn drop(&mut self) {
        LIMITS.set(self.before);
    }
}

/// A client of one bucket, container or server.
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    scheme: Scheme,
    /// For messages: `gs://bucket`.
    shown: String,
    limits: RequestLimits,
    /// When a step last timed out.
    silent: Mutex<Option<Instant>>,
    process: u32,
}

/// After a timeout, requests fail at once for this time.
const PAUSE: Duration = Duration::from_secs(1);

struct Key {
    name: Name,
    limits: RequestLimits,
    /// Hash of the relevant environment variables.
    environment: u64,
    process: u32,
}

static STORES: Mutex<Vec<(Key, Arc<Store>)>> = Mutex::new(Vec::new());

impl Store {
    /// Returns the client for an object.
    pub fn of(name: &Name) -> Result<Arc<Store>> {
        let limits = LIMITS
            .get()
            .unwrap_or_else(|| RequestLimits::of(&Options::new()));
        let key = Key {
            name: Name {
                key: String::new(),
                ..name.clone()
            },
            limits,
            environment: environment(),
            process: os::process(),
        };
        let same = |k: &Key| {
            k.name == key.name
                && k.limits == limits
                && k.environment == key.environment
                && k.process == key.process
        };
        // a fork may have copied the lock while it was held: the cache is then unavailable
        if let Some(found) = try_lock(&STORES)
            .and_then(|all| all.iter().find(|(k, _)| same(k)).map(|(_, s)| s.clone()))
        {
            return Ok(found);
        }
        let process = key.process;
        let made = runtime::wait(async { build(name, limits) })?;
        let inner = message::refused(&name.shown, made)?;
        let store = Arc::new(Store {
            inner,
            scheme: name.scheme,
            shown: name.shown.clone(),
            limits,
            silent: Mutex::new(None),
            process,
        });
        if let Some(mut all) = try_lock(&STORES) {
            if all.len() == MAX_STORES {
                all.remove(0);
            }
            all.push((key, store.clone()));
        }
        Ok(store)
    }

    /// Returns the kind of the store.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the request limits.
    pub fn limits(&self) -> RequestLimits {
        self.limits
    }

    /// Returns the underlying client.
    pub fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    /// Returns a key for messages.
    pub fn show(&self, key: &str) -> String {
        format!("{}/{key}", self.shown)
    }

    /// Parses a key into a path of the store.
    pub fn path(&self, key: &str) -> Result<Path> {
        Path::parse(key).map_err(|e| self.failure(key, &e.into()))
    }

    /// Returns the error of a failed request.
    pub fn failure(&self, key: &str, e: &object_store::Error) -> Error {
        message::failure(self.scheme, &self.show(key), e)
    }

    /// Awaits a step of a request. Returns an error after the timeout.
    pub async fn step<T>(
        &self,
        key: &str,
        step: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        let timed_out = || message::timed_out(self.scheme, &self.show(key), self.limits.timeout);
        if try_lock(&self.silent)
            .is_some_and(|silent| silent.is_some_and(|when| when.elapsed() < PAUSE))
        {
            return Err(timed_out());
        }
        match tokio::time::timeout(self.limits.timeout, step).await {
            Ok(done) => done.map_err(|e| self.failure(key, &e)),
            Err(_) => {
                try_lock(&self.silent)
                    .into_iter()
                    .for_each(|mut silent| *silent = Some(Instant::now()));
                Err(timed_out())
            }
        }
    }

    /// Blocks this thread until a future is ready. Refuses another process than the creating one.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        runtime::same_process(self.process, &self.shown)?;
        runtime::wait(future)?
    }

    /// Returns the metadata of an object, or `None` if it does not exist.
    pub fn head(&self, key: &str) -> Result<Option<ObjectMeta>> {
        let path = self.path(key)?;
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        match self.wait(self.step(key, self.inner.get_opts(&path, options))) {
            Ok(found) => Ok(Some(found.meta)),
            Err(e) if e.status == crate::error::Status::Missing => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Hashes the environment variables that configure clients.
fn environment() -> u64 {
    let ours = [
        "GOOGLE_",
        "AWS_",
        "AZURE_",
        "AZURITE_",
        "SERVICE_ACCOUNT",
        "CLOUD_STORAGE_EMULATOR",
        "STORAGE_EMULATOR",
        "HTTP",
        "http",
        "no_",
        "NO_",
    ];
    let of_ours = |name: &std::ffi::OsStr| {
        ours.iter()
            .any(|p| name.as_encoded_bytes().starts_with(p.as_bytes()))
    };
    let mut all: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| of_ours(name))
        .collect();
    all.sort_unstable();
    let mut hasher = DefaultHasher::new();
    all.hash(&mut hasher);
    hasher.finish()
}

fn build(name: &Name, limits: RequestLimits) -> object_store::Result<Arc<dyn ObjectStore>> {
    let (bucket, retry, client) = (name.base.as_str(), limits.retry(), limits.client());
    Ok(match name.scheme {
        Scheme::Gs => {
            let start = google().with_bucket_name(bucket).with_retry(retry);
            Arc::new(
                client
                    .into_iter()
                    .fold(start, |b, (k, v)| {
                        b.with_config(GoogleConfigKey::Client(k), v)
                    })
                    .build()?,
            )
        }
        Scheme::S3 => {
            let start = AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_retry(retry);
            let start = start.with_copy_if_not_exists(S3CopyIfNotExists::Multipart);
            Arc::new(
                client
                    .into_iter()
                    .fold(start, |b, (k, v)| {
                        b.with_config(AmazonS3ConfigKey::Client(k), v)
                    })
                    .build()?,
            )
        }
        Scheme::Azure => {
            let start = MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_retry(retry);
            Arc::new(
                client
                    .into_iter()
                    .fold(start, |b, (k, v)| {
                        b.with_config(AzureConfigKey::Client(k), v)
                    })
                    .build()?,
            )
        }
        Scheme::Http => {
            let start = ClientOptions::new().with_allow_http(bucket.starts_with("http://"));
            let options = client
                .into_iter()
                .fold(start, |o, (k, v)| o.with_config(k, v));
            let url = if name.query.is_empty() {
                bucket.to_owned()
            } else {
                format!("{bucket}?{}", name.query)
            };
            Arc::new(
                HttpBuilder::new()
                    .with_url(url)
                    .with_client_options(options)
                    .with_retry(retry)
                    .build()?,
            )
        }
    })
}

/// Configures the client of Google's store or of an emulator, by the variables that Google's own
/// clients use.
fn google() -> GoogleCloudStorageBuilder {
    let host = ["CLOUD_STORAGE_EMULATOR_ENDPOINT", "STORAGE_EMULATOR_HOST"]
        .iter()
        .find_map(|n| std::env::var(n).ok().filter(|v| !v.is_empty()));
    let Some(host) = host else {
        return GoogleCloudStorageBuilder::from_env();
    };
    let url = if host.contains("://") {
        host
    } else {
        format!("http://{host}")
    };
    let allow_http = url.starts_with("http://").to_string();
    // an emulator requires no token, so none is fetched
    let key = r#"{"disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}"#;
    let builder = GoogleCloudStorageBuilder::new()
        .with_base_url(url.trim_end_matches('/'))
        .with_service_account_key(key);
    builder.with_config(
        GoogleConfigKey::Client(ClientConfigKey::AllowHttp),
        allow_http,
    )
}

//! One bucket, container or server: made as the environment says, and kept for whoever opens
//! something in it next, with its connections; requests to it, each with an end.
#![forbid(unsafe_code)]

use super::name::{Name, Scheme};
use super::{message, runtime};
use crate::error::{Error, Result};
use crate::options::{Opt, Options};
use crate::os;
use crate::parallel::unless_taken;
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

/// Stores that are kept.
const KEPT: usize = 16;

/// How long to wait, how often to try, how much to ask for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A request is given up when nothing has come for so long, other tries included.
    pub timeout: Duration,
    /// Times that a request is tried again.
    pub retries: usize,
    /// Requests of one call that are under way at once.
    pub requests: usize,
}

impl Patience {
    /// As the options say.
    pub fn of(options: &Options) -> Patience {
        Patience {
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

    /// Settings of the client: an answer may take its time as long as some of it comes.
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

thread_local!(static ASKED: Cell<Option<Patience>> = const { Cell::new(None) });

/// As long as it lives, this thread asks stores as some options say.
pub struct Asking(Option<Patience>);

/// What this thread opens from here on is asked as these options say: names find their storage far
/// below the calls that have options.
pub fn ask_as(options: &Options) -> Asking {
    Asking(ASKED.replace(Some(Patience::of(options))))
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKED.set(self.0);
    }
}

/// A bucket, a container, a server.
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    scheme: Scheme,
    /// For messages: `gs://bucket`.
    shown: String,
    patience: Patience,
    /// When it last was silent for as long as was to be waited.
    silent: Mutex<Option<Instant>>,
    process: u32,
}

/// Who was silent for so long is not asked again right after.
const PAUSE: Duration = Duration::from_secs(1);

struct Key {
    name: Name,
    patience: Patience,
    /// Of what the environment says.
    environment: u64,
    process: u32,
}

static STORES: Mutex<Vec<(Key, Arc<Store>)>> = Mutex::new(Vec::new());

impl Store {
    /// The store that this object is in.
    pub fn of(name: &Name) -> Result<Arc<Store>> {
        let patience = ASKED.get().unwrap_or_else(|| Patience::of(&Options::new()));
        let key = Key {
            name: Name {
                key: String::new(),
                ..name.clone()
            },
            patience,
            environment: environment(),
            process: os::process(),
        };
        let same = |k: &Key| {
            k.name == key.name
                && k.patience == patience
                && k.environment == key.environment
                && k.process == key.process
        };
        // a fork may have copied the lock taken: what is kept is then not to be had
        if let Some(found) = unless_taken(&STORES)
            .and_then(|all| all.iter().find(|(k, _)| same(k)).map(|(_, s)| s.clone()))
        {
            return Ok(found);
        }
        let process = key.process;
        let made = runtime::wait(async { build(name, patience) })?;
        let inner = message::refused(&name.shown, made)?;
        let store = Arc::new(Store {
            inner,
            scheme: name.scheme,
            shown: name.shown.clone(),
            patience,
            silent: Mutex::new(None),
            process,
        });
        if let Some(mut all) = unless_taken(&STORES) {
            if all.len() == KEPT {
                all.remove(0);
            }
            all.push((key, store.clone()));
        }
        Ok(store)
    }

    /// Its kind.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// How it is asked.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// What it is asked through.
    pub fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    /// A key, for messages.
    pub fn show(&self, key: &str) -> String {
        format!("{}/{key}", self.shown)
    }

    /// A key as the store takes it.
    pub fn path(&self, key: &str) -> Result<Path> {
        Path::parse(key).map_err(|e| self.failure(key, &e.into()))
    }

    /// The words for a request that failed.
    pub fn failure(&self, key: &str, e: &object_store::Error) -> Error {
        message::failure(self.scheme, &self.show(key), e)
    }

    /// What a step of a request gives, if it comes in time.
    pub async fn step<T>(
        &self,
        key: &str,
        step: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        let late = || message::late(self.scheme, &self.show(key), self.patience.timeout);
        if unless_taken(&self.silent)
            .is_some_and(|silent| silent.is_some_and(|when| when.elapsed() < PAUSE))
        {
            return Err(late());
        }
        match tokio::time::timeout(self.patience.timeout, step).await {
            Ok(done) => done.map_err(|e| self.failure(key, &e)),
            Err(_) => {
                unless_taken(&self.silent)
                    .into_iter()
                    .for_each(|mut silent| *silent = Some(Instant::now()));
                Err(late())
            }
        }
    }

    /// Waits for something on this thread, in the process that it was made in.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        runtime::same_process(self.process, &self.shown)?;
        runtime::wait(future)?
    }

    /// What the store says about an object; none where there is none.
    pub fn head(&self, key: &str) -> Result<Option<ObjectMeta>> {
        let path = self.path(key)?;
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        match self.wait(self.step(key, self.inner.get_opts(&path, options))) {
            Ok(found) => Ok(Some(found.meta)),
            Err(e) if e.status == crate::Status::Missing => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Tells one state of the variables that stores are made by from another one.
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

fn build(name: &Name, patience: Patience) -> object_store::Result<Arc<dyn ObjectStore>> {
    let (bucket, retry, client) = (name.base.as_str(), patience.retry(), patience.client());
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

/// Google's store, or an emulator of it, by the variables that Google's own clients know.
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
    // an emulator asks for no token, and none is to be fetched for it
    let key = r#"{"disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}"#;
    let builder = GoogleCloudStorageBuilder::new()
        .with_base_url(url.trim_end_matches('/'))
        .with_service_account_key(key);
    builder.with_config(
        GoogleConfigKey::Client(ClientConfigKey::AllowHttp),
        allow_http,
    )
}

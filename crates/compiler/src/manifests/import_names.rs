//! The names under which packages are imported: those of the standard library, of the server, and of well-known
//! distributions.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::manifests::requirement::normalized_name;

/// The modules of the standard library, of all versions of Python 3 that are supported.
const STANDARD: &str = "__future__ abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop \
     base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop \
     collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt \
     csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest dummy_threading email \
     encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib \
     functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib \
     imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma \
     macpath mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis \
     nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle \
     pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile \
     pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched \
     secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 \
     sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol \
     symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit \
     tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata \
     unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp \
     zipfile zipimport zlib zoneinfo";

/// The modules of the packages in the image of the server.
const SERVER: &str = "annotated_types anyio blockbuster certifi cffi charset_normalizer click cloudpickle coredis croniter \
     cryptography dateutil distro forbiddenfruit google grpc grpc_health grpc_tools h11 httpcore httpcore2 \
     httptools httpx httpx2 idna jsonpatch jsonpatch_cli jsonpointer jsonschema_rs jwt langchain_core \
     langchain_protocol langgraph langgraph_api langgraph_license langgraph_runtime langgraph_runtime_inmem \
     langgraph_runtime_postgres langgraph_sdk langgraph_storage langsmith opentelemetry orjson ormsgpack packaging \
     prometheus_client psycopg psycopg_binary psycopg_pool pycparser pydantic pydantic_core redis requests \
     requests_toolbelt sniffio sse_starlette starlette structlog tenacity truststore typing_extensions \
     typing_inspection tzdata urllib3 uuid_utils uvicorn uvloop watchfiles websockets xxhash yaml zstandard";

/// Modules that only these distributions have.
const DISTRIBUTIONS: &[(&str, &[&str])] = &[
    ("IPython", &["ipython"]),
    ("PIL", &["pillow", "pillow-simd"]),
    ("bs4", &["beautifulsoup4"]),
    ("chromadb", &["chromadb", "chromadb-client"]),
    (
        "cv2",
        &[
            "opencv-contrib-python",
            "opencv-contrib-python-headless",
            "opencv-contrib-python-rolling",
            "opencv-python",
            "opencv-python-headless",
            "opencv-python-rolling",
            "opencv-python-headless-rolling",
        ],
    ),
    ("docx", &["python-docx"]),
    ("dotenv", &["python-dotenv"]),
    ("exa_py", &["exa-py"]),
    ("fastapi", &["fastapi", "fastapi-slim"]),
    ("fitz", &["pymupdf"]),
    ("git", &["gitpython"]),
    ("github", &["pygithub"]),
    ("googleapiclient", &["google-api-python-client"]),
    ("livekit", &["livekit", "livekit-agents", "livekit-api", "livekit-protocol"]),
    ("neo4j", &["neo4j", "neo4j-driver"]),
    ("pinecone", &["pinecone", "pinecone-client"]),
    ("polars", &["polars", "polars-lts-cpu", "polars-u64-idx"]),
    ("pptx", &["python-pptx"]),
    ("psycopg2", &["psycopg2", "psycopg2-binary"]),
    ("qdrant_client", &["qdrant-client"]),
    ("skimage", &["scikit-image"]),
    ("sklearn", &["scikit-learn"]),
    ("spacy", &["spacy", "spacy-nightly"]),
    ("streamlit", &["streamlit", "streamlit-nightly"]),
    ("tavily", &["tavily-python"]),
    ("weaviate", &["weaviate-client"]),
    ("wikipedia", &["wikipedia"]),
];

/// Modules that only the distribution of the same name has.
const NAMESAKES: &str = "aiofiles aiohttp anthropic arxiv asyncpg boto3 copilotkit deepagents duckduckgo_search elasticsearch flask \
     groq jinja2 langchain langchain_anthropic langchain_aws langchain_chroma langchain_classic langchain_cohere \
     langchain_community langchain_deepseek langchain_experimental langchain_fireworks langchain_google_genai \
     langchain_google_vertexai langchain_groq langchain_huggingface langchain_mcp_adapters langchain_milvus \
     langchain_mistralai langchain_mongodb langchain_nvidia_ai_endpoints langchain_ollama langchain_openai \
     langchain_perplexity langchain_pinecone langchain_postgres langchain_qdrant langchain_tavily \
     langchain_text_splitters langchain_together langchain_voyageai langchain_xai langfuse langmem litellm \
     markdownify matplotlib mcp motor networkx nltk numpy ollama openai openpyxl pandas playwright plotly psutil \
     pydantic_settings pymongo pypdf rich scipy seaborn selenium sentence_transformers slack_sdk sqlalchemy \
     supabase tiktoken torch tqdm transformers trustcall twilio yfinance";

/// Distributions that bring no integration of the library which is not required itself, in any version.
const ALONE: &str = "aiofiles aiohttp anthropic arxiv asyncpg beautifulsoup4 ddgs duckduckgo-search fastapi httpx jinja2 langchain \
     langchain-anthropic langchain-community langchain-core langchain-google-genai langchain-groq langchain-huggingface \
     langchain-mcp-adapters langchain-mistralai langchain-ollama langchain-openai langchain-tavily \
     langchain-text-splitters langgraph langgraph-checkpoint langgraph-checkpoint-postgres \
     langgraph-checkpoint-sqlite langgraph-cli langgraph-prebuilt langgraph-sdk \
     langgraph-supervisor langgraph-swarm langsmith lxml mcp mypy numpy openai pandas psycopg psycopg2-binary pydantic \
     pydantic-settings pymongo pypdf pytest python-dotenv pyyaml redis requests rich ruff sqlalchemy tavily-python tenacity \
     tiktoken typing-extensions uvicorn wikipedia yfinance";

/// Integrations that older versions of [`ALONE`] bring.
const SHARED: &str = "langchain_classic langchain_community langchain_text_splitters";

/// Distributions of [`ALONE`] that bring `dotenv` in some version; further ones do with extras.
const WITH_DOTENV: &str = "langchain-community langchain-mcp-adapters langgraph-cli mcp pydantic-settings";

/// Further modules that no distribution of [`ALONE`] brings, but for [`WITH_DOTENV`].
const RARE: &str =
    "IPython dotenv flask livekit neo4j playwright selenium slack_sdk streamlit supabase twilio";

/// Those of [`STANDARD`] and [`SERVER`].
static PROVIDED: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STANDARD.split(' ').chain(SERVER.split(' ')).collect());

/// Whether the image has the module without any requirement.
pub fn is_provided(module: &str) -> bool {
    module.starts_with('_') || PROVIDED.contains(module)
}

/// The normalised names of the distributions of which one is needed to import `module`, if they are known.
pub fn distributions(module: &str) -> Option<Vec<String>> {
    if let Some((_, names)) = DISTRIBUTIONS.iter().find(|(name, _)| *name == module) {
        return Some(names.iter().map(|&name| name.to_owned()).collect());
    }
    has(NAMESAKES, module).then(|| vec![normalized_name(module)])
}

/// The same for an integration of the library and others that hardly any other package brings.
pub fn integration(module: &str) -> Option<Vec<String>> {
    let is_integration = module.starts_with("langchain_") && !has(SHARED, module);
    distributions(module).filter(|_| is_integration || has(RARE, module))
}

/// Whether a distribution, with extras or without, brings no integration with it.
pub fn brings_no_integration(distribution: &str, has_extras: bool) -> bool {
    has(ALONE, distribution) && !(has_extras && ["langchain", "rich"].contains(&distribution))
}

/// The distribution of `dotenv`, if one of [`ALONE`], with extras or without, may bring it.
pub fn brought_dotenv(distribution: &str, has_extras: bool) -> Option<&'static str> {
    (has_extras || has(WITH_DOTENV, distribution)).then_some("python-dotenv")
}

fn has(list: &str, module: &str) -> bool {
    list.split(' ').any(|name| name == module)
}

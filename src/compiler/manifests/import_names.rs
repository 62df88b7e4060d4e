//! The names under which packages are imported: those of the standard library, of the server, and of well-known
//! distributions.

use crate::compiler::manifests::requirement::normalized_name;

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
    ("PIL", &["pillow"]),
    ("bs4", &["beautifulsoup4"]),
    (
        "cv2",
        &[
            "opencv-python",
            "opencv-python-headless",
            "opencv-contrib-python",
            "opencv-contrib-python-headless",
        ],
    ),
    ("docx", &["python-docx"]),
    ("dotenv", &["python-dotenv"]),
    ("exa_py", &["exa-py"]),
    ("fitz", &["pymupdf"]),
    ("git", &["gitpython"]),
    ("github", &["pygithub"]),
    ("googleapiclient", &["google-api-python-client"]),
    ("pinecone", &["pinecone", "pinecone-client"]),
    ("pptx", &["python-pptx"]),
    ("psycopg2", &["psycopg2", "psycopg2-binary"]),
    ("qdrant_client", &["qdrant-client"]),
    ("skimage", &["scikit-image"]),
    ("sklearn", &["scikit-learn"]),
    ("tavily", &["tavily-python"]),
    ("weaviate", &["weaviate-client"]),
    ("wikipedia", &["wikipedia"]),
];

/// Modules that only the distribution of the same name has.
const NAMESAKES: &str = "aiofiles aiohttp anthropic arxiv asyncpg boto3 chromadb copilotkit deepagents duckduckgo_search elasticsearch \
     fastapi flask groq jinja2 langchain langfuse langmem litellm markdownify matplotlib mcp motor nltk neo4j \
     networkx numpy ollama openai openpyxl pandas playwright plotly polars psutil pydantic_settings pymongo pypdf \
     rich scipy seaborn selenium sentence_transformers slack_sdk spacy sqlalchemy streamlit supabase tiktoken torch \
     tqdm transformers trustcall twilio yfinance";

/// Prefix of modules that the distribution of the same name has.
const PREFIX: &str = "langchain_";

/// Whether the image has the module without any requirement.
pub fn is_provided(module: &str) -> bool {
    module.starts_with('_') || has(STANDARD, module) || has(SERVER, module)
}

/// The normalised names of the distributions of which one is needed to import `module`, if they are known.
pub fn distributions(module: &str) -> Option<Vec<String>> {
    if let Some((_, names)) = DISTRIBUTIONS.iter().find(|(name, _)| *name == module) {
        return Some(names.iter().map(|&name| name.to_owned()).collect());
    }
    (module.starts_with(PREFIX) || has(NAMESAKES, module)).then(|| vec![normalized_name(module)])
}

fn has(list: &str, module: &str) -> bool {
    list.split_whitespace().any(|name| name == module)
}

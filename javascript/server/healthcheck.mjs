// Asks the server of this container for its health.
const url = `http://127.0.0.1:${process.env.PORT || 8000}/ok`;
try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
  // The authentication of the project may refuse the question, which is an answer, too.
  if (answer.status >= 500) throw new Error(`status ${answer.status}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exit(1);
}

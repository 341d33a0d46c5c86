import { text } from 'node:stream/consumers';
import { query } from 'chdb';

// A process that runs ClickHouse and nothing else: reads a JSON list of queries from standard input, and prints a list of
// what came of each, `{"text"}` as tab-separated lines or `{"error"}`.
const answers = JSON.parse(await text(process.stdin)).map((sql) => {
  try {
    return { text: query(sql, 'TSV') };
  } catch (error) {
    return { error: String(error) };
  }
});
process.stdout.write(JSON.stringify(answers));

import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** What came of a query: lines of values with tabs between them, or ClickHouse's error. */
export type Answer = { readonly text: string } | { readonly error: string };

/**
 * What ClickHouse answers to each query, one after the other, in a process of its own: in one with DuckDB their libraries
 * would share symbols.
 */
export async function clickhouseAnswers(queries: readonly string[]): Promise<Answer[]> {
  const script = fileURLToPath(new URL('clickhouse/query.mjs', import.meta.url));
  // It opens no files but those below the folder that it runs in.
  const child = spawn(process.execPath, [script], { cwd: tmpdir() });
  child.stdin.end(JSON.stringify(queries));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (output === '') throw new Error(`ClickHouse has answered nothing: ${errors}`);
  return JSON.parse(output) as Answer[];
}

/** The lines that ClickHouse gives for each query, tab-separated. Throws its error where it has one. */
export async function clickhouseLines(queries: readonly string[]): Promise<string[][]> {
  return (await clickhouseAnswers(queries)).map((answer, at) => {
    if ('error' in answer) throw new Error(`${queries[at] ?? ''}: ${answer.error}`);
    return answer.text.split('\n').filter((line) => line !== '');
  });
}

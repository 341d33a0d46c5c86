import { compare } from '../compare.js';

/**
 * The construct that the reader is in: a string, name or line comment with the text that ends it, or nested comments
 * with their depth.
 */
type Inside = { readonly end: string; readonly escapes: boolean } | { readonly comments: number };

/** A semicolon, or what opens a string (`'`, `e'`, `$tag$`), a quoted name or a comment. */
const marks = /;|--|\/\*|"|(?<![\p{L}\p{N}_$])[eE]'|'|(?<![\p{L}\p{N}_$])\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/gu;

/**
 * Splits lines of SQL into statements at the semicolons outside of strings, quoted names and comments. Keeps the text
 * since the last statement's end; each line is scanned once.
 */
export class StatementReader {
  /** The statement so far, without the current line. */
  #before = '';
  #line = '';
  #at = 0;
  #inside: Inside | undefined;
  /** Whether the current statement has more than white space and comments. */
  #hasStatement = false;

  /** Adds a line without its line break. Returns the statements that it completes, without their semicolons. */
  push(line: string): readonly string[] {
    const complete: string[] = [];
    this.#line = `${line}\n`;
    this.#at = 0;
    while (this.#at < this.#line.length) {
      if (this.#inside !== undefined) this.#leave(this.#inside);
      else if (this.#line[this.#at] === ';') {
        if (this.#hasStatement) complete.push(this.#before + this.#line.slice(0, this.#at));
        this.#before = '';
        this.#hasStatement = false;
        this.#line = this.#line.slice(this.#at + 1);
        this.#at = 0;
      } else this.#enter();
    }
    // Leading blank lines are dropped: they would shift the line numbers in DuckDB's messages.
    if (this.pending || this.#before !== '') this.#before += this.#line;
    else this.#before = this.#line.trim() === '' ? '' : this.#line;
    return complete;
  }

  /** The last statement of the input where it has no semicolon; undefined where there is none. */
  rest(): string | undefined {
    const text = this.#hasStatement ? this.#before.trimEnd() : undefined;
    this.#before = '';
    this.#hasStatement = false;
    this.#inside = undefined;
    return text;
  }

  /** The text since the last statement's end. */
  get text(): string {
    return this.#before;
  }

  /** Whether a statement or a comment has begun and not ended. */
  get pending(): boolean {
    return this.#hasStatement || this.#inside !== undefined;
  }

  /** Outside of any construct: advances to the next mark, and past it where it opens a construct. */
  #enter(): void {
    const [mark, index] = this.#find(marks);
    if (/\S/.test(this.#line.slice(this.#at, index))) this.#hasStatement = true;
    this.#at = index;
    if (mark === ';') return;
    this.#at += mark.length;
    if (mark === '--') this.#inside = { end: '\n', escapes: false };
    else if (mark === '/*') this.#inside = { comments: 1 };
    else if (mark !== '') {
      this.#hasStatement = true;
      const escapes = mark.length === 2 && mark.endsWith("'");
      this.#inside = { end: escapes ? "'" : mark, escapes };
    }
  }

  /** Inside a construct: advances to its end or the end of the line. */
  #leave(inside: Inside): void {
    if ('comments' in inside) {
      const [mark, index] = this.#find(/\/\*|\*\//g);
      const comments = inside.comments + (mark === '/*' ? 1 : mark === '*/' ? -1 : 0);
      this.#at = index + mark.length;
      this.#inside = comments === 0 ? undefined : { comments };
      return;
    }
    // In a plain string a doubled quote may count as an end and a new start. In one with escapes it may not, because of
    // \'.
    const [mark, index] = inside.escapes ? this.#find(/\\[^]|''|'/g) : this.#search(inside.end);
    this.#at = index + mark.length;
    if (mark === inside.end) this.#inside = undefined;
  }

  #find(pattern: RegExp): readonly [string, number] {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#line);
    return found === null ? ['', this.#line.length] : [found[0], found.index];
  }

  #search(text: string): readonly [string, number] {
    const index = this.#line.indexOf(text, this.#at);
    return index < 0 ? ['', this.#line.length] : [text, index];
  }
}

/** The statements of a text, without their semicolons. */
export function statementsOf(text: string): readonly string[] {
  const reader = new StatementReader();
  const complete = text.split('\n').flatMap((line) => reader.push(line));
  const rest = reader.rest();
  return rest === undefined ? complete : [...complete, rest];
}

const comments = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/|\()+/;
const queries = /^(?:select|from|with|values|table|show|describe|desc|summarize|pivot|unpivot|explain)\b/i;

/** Whether a statement is a query by its first word. */
export function returnsRows(statement: string): boolean {
  return queries.test(statement.replace(comments, ''));
}

/** What is no parameter (strings, quoted names, comments), or a parameter's name after its dollar sign. */
const parameterOrOther =
  /--[^\n]*|\/\*[^]*?\*\/|"(?:[^"]|"")*"|(?<![\p{L}\p{N}_$])[eE]'(?:\\[^]|''|[^'\\])*'|'(?:[^']|'')*'|(?<![\p{L}\p{N}_$])(?:\$((?:[\p{L}_][\p{L}\p{N}_]*)?)\$[^]*?\$\1\$|\$([\p{L}\p{N}_]+))/gu;

/** The names of the parameters in a statement, each once: `month` of `$month`. */
export function parametersOf(statement: string): ReadonlySet<string> {
  return new Set([...statement.matchAll(parameterOrOther)].flatMap(([, , name]) => name ?? []));
}

/** A statement without its quoted texts and the comments at the ends of its lines. */
export function withoutTexts(statement: string): string {
  return statement.replaceAll(/--.*|'[^']*'/g, '');
}

/** The words of a statement in lower case. */
export function wordsOf(statement: string): ReadonlySet<string> {
  return new Set(statement.toLowerCase().match(/\w+/g));
}

/**
 * A statement of a `.sql` file over the rows of files: `relations` has queries of them by the names that the statement reads them by.
 *
 * @param text begins with SELECT
 */
export function statementOver(relations: Readonly<Record<string, string>>, text: string): string {
  const queries = Object.entries(relations).map(([name, query]) => `${name} AS NOT MATERIALIZED (${query})`);
  return `WITH ${queries.join(', ')}\n${text}`;
}

/** The texts of a folder's `.sql` files by the names of the files, in their order. */
export function textsByName(files: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const byName = Object.entries(files).map(
    ([path, text]) => [/(?<=\/)[^/]+(?=\.sql$)/.exec(path)?.[0] ?? '', text] as const,
  );
  return new Map(byName.toSorted(([a], [b]) => compare(a, b)));
}

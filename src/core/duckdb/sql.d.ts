/** The text of a `.sql` file: the build puts it into the code that imports it. */
declare module '*.sql' {
  const text: string;
  export default text;
}

/** The text of a page of `docs/`, alike. */
declare module '*.md' {
  const text: string;
  export default text;
}

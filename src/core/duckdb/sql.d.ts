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

interface ImportMeta {
  /** The texts of the files of a folder by their paths: the build puts them into the code. */
  glob<T>(pattern: string, options: { readonly eager: true; readonly import: 'default' }): Readonly<Record<string, T>>;
}

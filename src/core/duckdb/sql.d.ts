/** The text of a `.sql` file: the build puts it into the code that imports it. */
declare module '*.sql' {
  const text: string;
  export default text;
}

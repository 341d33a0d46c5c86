// The package's own declaration names it `domino` and needs the types of a browser.
declare module '@mixmark-io/domino' {
  const domino: { createDocument(html?: string): unknown };
  export default domino;
}

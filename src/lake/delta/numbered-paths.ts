const extension = '.parquet';

/** The path of a file whose own name can't be had: with a number behind it. */
export function numbered(path: string, number: number): string {
  return `${path.slice(0, -extension.length)}-${number}${extension}`;
}

/** The path without the number; undefined where it has none. A name that ends in digits may be taken for one that has. */
export function unnumbered(path: string): string | undefined {
  const [, stem] = /^(.+)-\d+\.parquet$/.exec(path) ?? [];
  return stem === undefined ? undefined : stem + extension;
}

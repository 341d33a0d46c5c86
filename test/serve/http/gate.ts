export interface Gate<T> {
  readonly opened: Promise<T>;
  readonly open: (value: T) => void;
}

/** A promise that a test resolves when it is time. */
export function gate<T>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** One line of Prometheus's text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function samplesOf(text: string): Sample[] {
  return [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value = '']) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', of = '']) => [key, of])),
    value: Number(value),
  }));
}

/** The sum of a metric's samples that have all of these labels. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>>): number {
  return samples
    .filter((sample) => sample.name === name && Object.entries(labels).every(([key, of]) => sample.labels[key] === of))
    .reduce((sum, { value }) => sum + value, 0);
}

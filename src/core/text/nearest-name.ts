/** The name that a mistyped one most likely stands for; undefined where none is near. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = plain(given);
  // What is that long is no slip of the hand, and comparing it would take long.
  if (wanted.length > 64) return undefined;
  const ranked = names
    .map((name) => ({ name, distance: editDistance(wanted, plain(name)) }))
    .toSorted((one, other) => one.distance - other.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.ceil(best.name.length / 3) ? best.name : undefined;
}

/** `client_id` and `clientId` are the same name in two habits. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Letters to insert, remove or change (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column++) {
      const changed = (row[column - 1] ?? 0) + (other[column - 1] === one[index] ? 0 : 1);
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

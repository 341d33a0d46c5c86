import { questions, type Question } from '../../src/app/query/questions.js';

/** `docs/questions.md`: the questions of `ledgerlake ask`, as their files have them. */
export function questionsPage(): string {
  return [
    '# Questions',
    '',
    'Generated from the files of `src/app/query/questions`. `npx ledgerlake ask` lists these questions, and `npx ledgerlake ask NAME` answers one;',
    '`--param NAME=VALUE` gives a parameter its value, and `--sql` prints the query with all values, which `npx ledgerlake sql` runs.',
    '`npx ledgerlake export views` writes them all. [queries.md](queries.md#questions-with-an-answer) describes parameters and unit costs.',
    '',
    '| question | answers | parameters |',
    '| --- | --- | --- |',
    ...questions.map(
      ({ name, title, parameters }) =>
        `| [\`${name}\`](#${name}) | ${title} | ${parameters.map((of) => `\`${of.name}\``).join(', ')} |`,
    ),
    '',
    ...questions.flatMap(section),
  ].join('\n');
}

function section({ name, title, about, parameters }: Question): string[] {
  return [
    `## ${name}`,
    '',
    `${title}. ${about}`,
    '',
    ...parameters.map(({ name: of, type, standard, about: what }) => {
      const value = standard === undefined ? '' : `; default: ${standard}`;
      return `- \`${of}\` (${type}): ${what}${value}`;
    }),
    '',
  ];
}

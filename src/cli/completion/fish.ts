import { quoted, type Choice, type CompletedCommand, type CompletedOption } from './words.js';

/** The completion for fish: a file `ledgerlake.fish` in its folder of completions, or a text to source. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const first = `-n ${quoted(`not __fish_seen_subcommand_from ${names}`)}`;
  return `# Completion of ledgerlake for fish: ledgerlake completion fish | source

function __ledgerlake_accounts
    set -l words (commandline -opc)
    set -l at (contains -i -- --config $words)
    and test (count $words) -gt $at
    and set -l asked --config $words[(math $at + 1)]
    $words[1] completion accounts $asked 2>/dev/null
end

complete -c ledgerlake -f
complete -c ledgerlake ${first} -l version -d 'Show version'
${commands.map(({ name, about }) => `complete -c ledgerlake ${first} -a ${name} -d ${quoted(about)}`).join('\n')}
${commands.map(commandLines).join('\n')}
`;
}

function commandLines({ name, options, positional }: CompletedCommand): string {
  const seen = `complete -c ledgerlake -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  const lines = options.map((option) => `${seen} ${optionWords(option)}`);
  const offered = offers(positional);
  return [...lines, ...(offered === '' ? [] : [`${seen} ${offered}`])].join('\n');
}

function optionWords({ name, short, about, value }: CompletedOption): string {
  const spelled = `-l ${name}${short === undefined ? '' : ` -s ${short}`} -d ${quoted(about)}`;
  if (value === undefined) return spelled;
  const offered = offers(value);
  return `${spelled} -r ${offered === '' ? '-x' : offered}`;
}

function offers({ words, from }: Choice): string {
  switch (from) {
    case 'files':
      return '-F';
    case 'folders':
      return "-x -a '(__fish_complete_directories)'";
    case 'accounts':
      return `-x -a ${quoted([...words, '(__ledgerlake_accounts)'].join(' '))}`;
    case undefined:
      return words.length === 0 ? '' : `-x -a ${quoted(words.join(' '))}`;
  }
}

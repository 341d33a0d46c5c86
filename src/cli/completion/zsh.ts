import { quoted, spellings, type Choice, type CompletedCommand, type CompletedOption } from './words.js';

/** The completion for zsh: a file `_ledgerlake` on the `fpath`, or a text to source. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef ledgerlake
# Completion of ledgerlake for zsh: source <(ledgerlake completion zsh), behind compinit

_ledgerlake_accounts() {
  local -a names asked
  local at=\${words[(I)--config]}
  ((at)) && asked=(--config "\${words[at + 1]}")
  names=(\${(f)"$($_ledgerlake_program completion accounts $asked 2>/dev/null)"})
  compadd -a names
}

_ledgerlake() {
  local _ledgerlake_program=\${words[1]} curcontext=$curcontext state line
  local -a commands
  commands=(
${commands.map(({ name, about }) => `    ${quoted(`${name}:${about}`)}`).join('\n')}
  )
  _arguments -C ${quoted('(- *)--help[Show help]')} ${quoted('--verbose[Tell more]')} ${quoted('(- *)--version[Show version]')} ${quoted('1: :->command')} ${quoted('*:: :->rest')}
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${commands.map(commandCase).join('\n')}
      esac
      ;;
  esac
}

if [[ $funcstack[1] == _ledgerlake ]]; then _ledgerlake "$@"; else compdef _ledgerlake ledgerlake; fi
`;
}

function commandCase({ name, options, positional }: CompletedCommand): string {
  const lines = options.flatMap(optionSpecs);
  if (positional.words.length > 0 || positional.from !== undefined) lines.push(quoted(`*:word:${action(positional)}`));
  return `        ${name}) _arguments -S ${lines.join(' ')} ;;`;
}

function optionSpecs(option: CompletedOption): string[] {
  const about = option.about.replaceAll(/[[\]:]/g, '');
  return spellings(option).map((spelling) => {
    if (option.value === undefined) return quoted(`${spelling}[${about}]`);
    const separator = spelling.startsWith('--') ? '=' : '+';
    return quoted(`*${spelling}${separator}[${about}]:${option.name}:${action(option.value)}`);
  });
}

function action({ words, from }: Choice): string {
  const some = words.length === 0 ? undefined : `(${words.join(' ')})`;
  switch (from) {
    case 'files':
      return '_files';
    case 'folders':
      return '_files -/';
    case 'accounts':
      return some === undefined ? '_ledgerlake_accounts' : `{compadd ${words.join(' ')}; _ledgerlake_accounts}`;
    case undefined:
      return some ?? ' ';
  }
}

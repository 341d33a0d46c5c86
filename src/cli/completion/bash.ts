import { quoted, spellings, type Choice, type CompletedCommand, type CompletedOption } from './words.js';

/** The completion for bash, from 3.2 on. Only accounts are asked for with a process. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const valued = new Set(commands.flatMap(({ options }) => options.filter(takesValue).flatMap(spellings)));
  return `# Completion of ledgerlake for bash: source <(ledgerlake completion bash)

_ledgerlake_offer() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done
}

_ledgerlake_words() { _ledgerlake_offer < <(compgen -W "$1" -- "$cur"); }

_ledgerlake_files() {
  compopt -o filenames 2>/dev/null
  _ledgerlake_offer < <(compgen "$1" -- "$cur")
}

_ledgerlake_accounts() {
  local names
  names=$("\${COMP_WORDS[0]}" completion accounts \${config:+--config "$config"} 2>/dev/null) || return 0
  _ledgerlake_words "$names"
}

_ledgerlake() {
  local cur=\${COMP_WORDS[COMP_CWORD]} option='' command='' config='' at word
  COMPREPLY=()
  # bash has --option=VALUE as three words.
  if [[ $cur == '=' ]]; then
    cur=''
    option=\${COMP_WORDS[COMP_CWORD - 1]}
  elif ((COMP_CWORD > 1)) && [[ \${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    option=\${COMP_WORDS[COMP_CWORD - 2]}
  else
    option=\${COMP_WORDS[COMP_CWORD - 1]}
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case $word in
      ${[...valued].toSorted().join('|')})
        [[ \${COMP_WORDS[at + 1]} == '=' ]] && ((at++))
        ((at++))
        [[ $word == --config ]] && ((at < COMP_CWORD)) && config=\${COMP_WORDS[at]}
        ;;
      -*|'=') ;;
      *) [[ -z $command ]] && command=$word ;;
    esac
  done
  case "$command $option" in
${commands.flatMap((command) => command.options.flatMap((option) => valueCase(command, option))).join('\n')}
  esac
  case $command in
    '')
      if [[ $cur == -* ]]; then _ledgerlake_words '--help --log-format --quiet --verbose --version'
      else _ledgerlake_words ${quoted(commands.map(({ name }) => name).join(' '))}
      fi
      ;;
${commands.map(commandCase).join('\n')}
  esac
}

complete -F _ledgerlake ledgerlake
`;
}

function takesValue({ value }: CompletedOption): boolean {
  return value !== undefined;
}

function valueCase({ name }: CompletedCommand, option: CompletedOption): string[] {
  if (option.value === undefined) return [];
  const patterns = spellings(option).map((spelling) => `'${name} ${spelling}'`);
  return [`    ${patterns.join('|')}) ${offers(option.value)}return ;;`];
}

function commandCase({ name, options, positional }: CompletedCommand): string {
  const dashed = quoted(options.flatMap(spellings).join(' '));
  return [
    `    ${name})`,
    `      if [[ $cur == -* ]]; then _ledgerlake_words ${dashed}`,
    `      else ${offers(positional)}:`,
    '      fi',
    '      ;;',
  ].join('\n');
}

function offers({ words, from }: Choice): string {
  const some = words.length === 0 ? '' : `_ledgerlake_words ${quoted(words.join(' '))}; `;
  switch (from) {
    case 'files':
      return `${some}_ledgerlake_files -f; `;
    case 'folders':
      return `${some}_ledgerlake_files -d; `;
    case 'accounts':
      return `${some}_ledgerlake_accounts; `;
    case undefined:
      return some;
  }
}

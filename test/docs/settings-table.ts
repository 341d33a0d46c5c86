import { jsonLine } from '../../src/app/configuration/commented-json.js';
import {
  settingDefinitions,
  settingVariable,
  type SettingDefinition,
} from '../../src/app/configuration/setting-definitions.js';
import { commands } from '../../src/cli/commands.js';
import { everyOption } from '../../src/cli/options/command-definition.js';
import { optionOf } from '../../src/core/text/value-forms.js';

const options = new Set([everyOption, ...commands.map((command) => command.options)].flatMap(Object.keys));

/** `docs/configuration.md` with the table of settings as their definitions have it. */
export function withSettings(page: string): string {
  const rows = Object.entries<SettingDefinition>(settingDefinitions).map(([name, definition]) => {
    const { about = '', details = about, default: usual } = definition;
    const { defaultText = usual === undefined ? '' : code(jsonText(usual)) } = definition;
    const option = options.has(optionOf(name)) ? code(`--${optionOf(name)}`) : '';
    return `| ${[code(name), code(settingVariable(name)), option, details, defaultText].join(' | ')} |`;
  });
  const table = ['| setting | environment | option | | default |', '| --- | --- | --- | --- | --- |', ...rows];
  return page.replace(/(?<=^## Settings\n\n)(\|.*\n)+/m, () => `${table.join('\n')}\n`);
}

function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : jsonLine(value);
}

function code(text: string): string {
  return `\`${text}\``;
}

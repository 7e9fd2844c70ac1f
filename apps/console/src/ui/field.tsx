'use client';

import { Description, FieldError, Input, Label, ListBox, Select, TextArea, TextField } from '@heroui/react';
import { type ComponentProps, type ReactNode, useState } from 'react';
import { useFieldError } from './form.tsx';

interface FieldProps extends Omit<ComponentProps<typeof TextField>, 'children'> {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly input?: ComponentProps<typeof Input>;
  /** Makes the input a text area. */
  readonly area?: ComponentProps<typeof TextArea>;
}

/** A labelled input with a hint below it, or with the error after a refusal. */
export function Field({ label, hint, input, area, ...props }: FieldProps) {
  const error = useFieldError(props.name);
  return (
    <TextField fullWidth isInvalid={error !== undefined} {...props}>
      <Label>{label}</Label>
      {area ? <TextArea {...area} /> : <Input {...input} />}
      {error === undefined && hint ? <Description>{hint}</Description> : null}
      {error === undefined ? null : <FieldError className="px-0">{error}</FieldError>}
    </TextField>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  /** The name by which a refusal finds the field. */
  readonly name?: string;
  readonly options: readonly { readonly id: T; readonly text: string; readonly hint?: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly hideLabel?: boolean;
  readonly className?: string;
  /** Called when a user focuses or opens it. */
  readonly onUse?: () => void;
}

/** Renders the options when they are first needed: there may be a thousand. */
export function Choice<T extends string>({
  label,
  name,
  options,
  value,
  onChange,
  hideLabel = false,
  className = '',
  onUse,
}: ChoiceProps<T>) {
  const error = useFieldError(name);
  const [isUsed, setUsed] = useState(false);
  const use = () => {
    setUsed(true);
    onUse?.();
  };
  const chosen = options.filter(({ id }) => id === value);
  // A list without options does not open.
  const rendered = isUsed || chosen.length === 0 ? options : chosen;
  return (
    <Select
      className={className}
      onFocus={use}
      onOpenChange={use}
      value={value}
      onChange={(next) => next !== null && onChange(next as T)}
      placeholder="Choose"
      isInvalid={error !== undefined}
      {...(hideLabel ? { 'aria-label': label } : {})}
    >
      {hideLabel ? null : <Label>{label}</Label>}
      <Select.Trigger>
        <Select.Value className="min-w-0 truncate [&_*]:max-w-full [&_*]:truncate" />
        <Select.Indicator />
      </Select.Trigger>
      <Select.Popover className="max-w-[min(26rem,calc(100vw-2rem))]">
        <ListBox>
          {rendered.map(({ id, text, hint }) => (
            <ListBox.Item key={id} id={id} textValue={text}>
              <div className="flex min-w-0 flex-col wrap-anywhere">
                <Label>{text}</Label>
                {hint ? <Description>{hint}</Description> : null}
              </div>
              <ListBox.ItemIndicator />
            </ListBox.Item>
          ))}
        </ListBox>
      </Select.Popover>
      {error === undefined ? null : <FieldError className="px-0">{error}</FieldError>}
    </Select>
  );
}

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moult-dev/moult/policies/words"
)

// OnlySubcommands makes a command do nothing by itself: what is no subcommand is an error, and so is nothing at all.
// Left to cobra, both would print the help and look like a success.
func OnlySubcommands(c *cobra.Command) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.Args = knownSubcommand
	c.RunE = func(c *cobra.Command, _ []string) error {
		return fmt.Errorf("%s needs a subcommand: %s; see %[1]s --help", c.CommandPath(), strings.Join(subcommands(c), ", "))
	}
	return c
}

// knownSubcommand is asked only about what cobra did not recognize as a subcommand.
func knownSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.SuggestionsMinimumDistance <= 0 { // as cobra does it for commands without Args of their own
		c.SuggestionsMinimumDistance = 2
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q for %s. Did you mean %s? See %[2]s --help", args[0], c.CommandPath(), either(near))
	}
	return fmt.Errorf("unknown command %q for %s; see %[2]s --help", args[0], c.CommandPath())
}

// CheckHelp makes the command help refuse what is no command.
func CheckHelp(help *cobra.Command) {
	help.Args = func(_ *cobra.Command, args []string) error {
		found, rest, err := help.Root().Find(args)
		if err != nil {
			return err
		}
		return knownSubcommand(found, rest)
	}
}

func subcommands(c *cobra.Command) []string {
	available := slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
	return words.Of(available, (*cobra.Command).Name)
}

// NoArguments refuses whatever is not a flag.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, but was given %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
}

// SomePaths asks for at least one.
func SomePaths(c *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return fmt.Errorf("name at least one PATH; see %s --help", c.CommandPath())
	}
	return nil
}

// SomeCRDs asks for at least one.
func (f *Factory) SomeCRDs(_ *cobra.Command, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("name at least one CRD; `%s status` lists those that are opted in, and --help says more", f.Name)
	}
	return nil
}

// The annotations of a flag: the values that it can have, and what its error adds to them, in which %s is the wrong value.
const (
	valuesOf = "moult.dev/one-of"
	hintOf   = "moult.dev/hint"
)

// OneOf closes the set of a flag's values. Any other is refused before the command runs.
func OneOf(c *cobra.Command, flag string, values ...string) {
	_ = c.Flags().SetAnnotation(flag, valuesOf, values)
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Hint adds what to do about a value that OneOf refuses.
func Hint(c *cobra.Command, flag, hint string) {
	_ = c.Flags().SetAnnotation(flag, hintOf, []string{hint})
}

// checkValues refuses what OneOf does not name. What a flag is without being given is no value that a person has to name.
func checkValues(c *cobra.Command) (err error) {
	c.Flags().Visit(func(flag *pflag.Flag) {
		value, values := flag.Value.String(), flag.Annotations[valuesOf]
		if err != nil || len(values) == 0 || value == flag.DefValue || slices.Contains(values, value) {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand
		}
		said := fmt.Sprintf("%s %s is none of %s", name, value, strings.Join(values, ", "))
		for _, hint := range flag.Annotations[hintOf] {
			said += "; " + strings.ReplaceAll(hint, "%s", value)
		}
		err = errors.New(said)
	})
	return err
}

// either lists alternatives.
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

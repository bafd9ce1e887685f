package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

const commandPages = "../../docs/reference/commands"

// Each command has a page in the reference. Its beginning is the help of the command, with the usage that the command has, and at the end
// are the flags, which are made of the command. With -update the pages are written.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	root := newRoot("kanon")
	var index strings.Builder
	pages := map[string]bool{"README.md": true}
	for _, group := range append(root.Groups(), &cobra.Group{Title: "Other:"}) {
		title := strings.TrimSuffix(group.Title, ":")
		fmt.Fprintf(&index, "| %s | |\n| --- | --- |\n", strings.ToLower(title[:1])+title[1:])
		for _, cmd := range root.Commands() {
			if cmd.GroupID != group.ID || !cmd.IsAvailableCommand() || cmd.Name() == "help" {
				continue
			}
			name := cmd.Name() + ".md"
			pages[name] = true
			fmt.Fprintf(&index, "| [kanon %s](%s) | %s |\n", cmd.Name(), name, cmd.Short)
			held(t, name, "# kanon "+cmd.Name()+"\n\n<!-- what it does -->\n<!-- end -->\n\n<!-- flags -->\n<!-- end -->\n", map[string]string{
				"what it does": introduction(cmd, "##"), "flags": flagTables(cmd),
			})
		}
		index.WriteString("\n")
	}
	held(t, "README.md", "", map[string]string{"commands": index.String()})
	found, err := filepath.Glob(filepath.Join(commandPages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range found {
		if !pages[filepath.Base(page)] {
			t.Errorf("%s is about no command", page)
		}
	}
}

// The help of each command that asks a cluster says how it ends if there is no answer. kanon run tries again, and kanon diff ends as
// kubectl diff does.
func TestExitCodesInHelp(t *testing.T) {
	t.Parallel()
	asking := 0
	for _, cmd := range newRoot("kanon").Commands() {
		if cmd.Flags().Lookup("server") == nil || cmd.Name() == "run" || cmd.Name() == "diff" {
			continue
		}
		asking++
		if text := strings.Join(strings.Fields(cmd.Long), " "); !strings.Contains(text, "3 when the cluster does not answer") {
			t.Errorf("kanon %s does not tell of exit code 3", cmd.Name())
		}
	}
	if asking < 12 {
		t.Errorf("only %d commands ask a cluster", asking)
	}
}

// held holds that a page has these texts between the comments that name them.
func held(t *testing.T, name, empty string, parts map[string]string) {
	t.Helper()
	path := filepath.Join(commandPages, name)
	is := empty
	if data, err := os.ReadFile(path); err == nil {
		is = string(data)
	} else if !*update {
		t.Fatal(err)
	}
	wanted := is
	for part, text := range parts {
		marked := regexp.MustCompile(`(?s)<!-- ` + part + ` -->\n.*?<!-- end -->\n`)
		if !marked.MatchString(wanted) {
			t.Errorf("%s has no place for: %s", path, part)
		}
		wanted = marked.ReplaceAllLiteralString(wanted, "<!-- "+part+" -->\n\n"+strings.TrimSpace(text)+"\n\n<!-- end -->\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(wanted), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(wanted, is); diff != "" {
		t.Errorf("%s is not current; run go test ./cmd/kanon -run TestCommandReference -update (-want +got):\n%s", path, diff)
	}
}

// introduction is the help text of a command and of those below it, without flags.
func introduction(cmd *cobra.Command, heading string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(cmd.Long, "\n\n") {
		if regexp.MustCompile(`(?m)^ |\S  +\S`).MatchString(paragraph) { // laid out by blanks
			b.WriteString("```text\n" + paragraph + "\n```\n\n")
		} else {
			b.WriteString(regexp.MustCompile("[<*_\\[`]").ReplaceAllString(paragraph, `\$0`) + "\n\n")
		}
	}
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		b.WriteString("```text\n" + cmd.UseLine() + "\n```\n\n")
	}
	if cmd.HasExample() {
		b.WriteString("```sh\n" + regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, "") + "\n```\n\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			b.WriteString(heading + " " + sub.CommandPath() + "\n\n" + introduction(sub, heading+"#"))
		}
	}
	return b.String()
}

// flagTables are the flags of a command, under the headings that its help text has. Those below it have more.
func flagTables(cmd *cobra.Command) string {
	var b strings.Builder
	of := map[string]string{}
	collect(cmd, of)
	for _, heading := range slices.Sorted(maps.Keys(of)) {
		b.WriteString("## " + heading + "\n\n| flag | type | default | meaning |\n| --- | --- | --- | --- |\n" + of[heading] + "\n")
	}
	return b.String()
}

func collect(cmd *cobra.Command, of map[string]string) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return // as in the help
		}
		heading := cli.FlagGroup(f)
		if heading == "" {
			heading = "Flags"
		} else {
			heading = "Flags: " + strings.ToLower(heading[:1]) + heading[1:]
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		byDefault := f.DefValue
		switch byDefault {
		case "", "[]", "0", "0s":
			byDefault = "none"
			if f.Value.Type() == "int" || f.Value.Type() == "duration" {
				byDefault = "`" + f.DefValue + "`"
			}
		default:
			byDefault = "`" + byDefault + "`"
		}
		kind = map[string]string{"": "true or false", "string": "text", "stringArray": "text, repeatable", "strings": "texts", "int": "number", "uint": "number"}[kind]
		if kind == "" {
			kind = f.Value.Type()
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", name, kind, byDefault, strings.NewReplacer("|", `\|`, "<", `\<`, "\n", " ").Replace(usage))
		if !strings.Contains(of[heading], row) {
			of[heading] += row
		}
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			collect(sub, of)
		}
	}
}

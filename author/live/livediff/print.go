package livediff

import (
	"fmt"
	"io"
	"strings"

	"kanon.dev/kanon/author/manifests"
)

// Print writes what waits or fails, and then the changes as unified diffs. A comment before each names the parent.
func (c *Changes) Print(w io.Writer, color bool) error {
	var text strings.Builder
	who := c.who()
	switch {
	case c.Idle != "":
		fmt.Fprintf(&text, "# %s %s: Kanon changes nothing for it\n", who, c.Idle)
	case c.Preview.Unmatched != "" && !c.Preview.Failed():
		fmt.Fprintf(&text, "# %s: the rule does not select it: %s\n", who, c.Preview.Unmatched)
	case c.Preview.Unmatched == "" && c.Parent.GetDeletionTimestamp() != nil:
		fmt.Fprintf(&text, "# %s is being deleted: this is what finalize does\n", who)
	}
	for _, problem := range c.Problems {
		fmt.Fprintf(&text, "# %s: %s\n", who, problem)
	}
	for _, change := range c.All {
		change.print(&text, who, color)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print the differences: %w", err)
	}
	return nil
}

// PrintRestored writes the changes that Restored returns.
func PrintRestored(w io.Writer, rule string, changes []Change, color bool) error {
	var text strings.Builder
	for _, change := range changes {
		change.print(&text, "rule "+rule, color)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("print the differences: %w", err)
	}
	return nil
}

// print writes a change after a comment with who, the parent or the rule.
func (c Change) print(text *strings.Builder, who string, color bool) {
	fmt.Fprintf(text, "# %s: %s\n", who, c.Title())
	diff := c.Unified()
	if color {
		diff = manifests.ColoredDiff(diff)
	}
	text.WriteString(diff)
}

// who names the parent in texts.
func (c *Changes) who() string {
	if namespace := c.Parent.GetNamespace(); namespace != "" {
		return c.Parent.GetKind() + " " + namespace + "/" + c.Parent.GetName()
	}
	return c.Parent.GetKind() + " " + c.Parent.GetName()
}

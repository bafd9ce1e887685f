package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

// explain prints what docs/findings.md says about a code.
func explain(cmd *cobra.Command, code string) error {
	codes := diagnostic.Codes()
	i := slices.IndexFunc(codes, func(info diagnostic.CodeInfo) bool { return strings.EqualFold(string(info.Code), code) })
	if i < 0 {
		return usageErrorf(cmd, "--explain: there is no code %q%s", code, nearCode(code))
	}
	info := codes[i]
	page, _ := docs.Finding(string(info.Code)) // a test holds that each code has a section
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s (%s)\n\n%s", info.Code, info.Title, info.Severity, docs.Plain(page))
	if err != nil {
		return fmt.Errorf("print the explanation: %w", err)
	}
	return nil
}

// nearCode is the code that was meant, if one is near.
func nearCode(code string) string {
	var names []string
	for _, info := range diagnostic.Codes() {
		names = append(names, string(info.Code))
	}
	hint := diagnostic.DidYouMean(code, names)
	if hint == "" {
		return "; codes are such as KN0204"
	}
	return "; " + hint
}

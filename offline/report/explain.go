package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/diagnostic"
)

// Explain prints the reference section of a code. The error is that of w, or an *UnknownCodeError.
func Explain(w io.Writer, code string) error {
	codes := diagnostic.Codes()
	i := slices.IndexFunc(codes, func(info diagnostic.CodeInfo) bool { return strings.EqualFold(string(info.Code), code) })
	if i < 0 {
		return &UnknownCodeError{Code: code}
	}
	info := codes[i]
	page, _ := docs.Finding(string(info.Code)) // each code has a section, which a test checks
	if _, err := fmt.Fprintf(w, "%s: %s (%s)\n\n%s", info.Code, info.Title, info.Severity, docs.Plain(page)); err != nil {
		return fmt.Errorf("print the explanation: %w", err)
	}
	return nil
}

// UnknownCodeError reports a code that does not exist.
type UnknownCodeError struct{ Code string }

func (e *UnknownCodeError) Error() string {
	var names []string
	for _, info := range diagnostic.Codes() {
		names = append(names, string(info.Code))
	}
	hint := diagnostic.DidYouMean(e.Code, names)
	if hint == "" {
		hint = "codes are such as KN0204"
	}
	return fmt.Sprintf("there is no code %q; %s", e.Code, hint)
}

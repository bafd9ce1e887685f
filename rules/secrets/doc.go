// Package secrets hides the values of Secrets in the lines of a source that people are shown: in findings, diffs and logs. It goes by the
// structure of the text and not by values:
//
//	secrets.Hide(src, root)         // in each mapping of kind Secret
//	secrets.HideLine(src, position) // in one line of a text that is no YAML
//	src.ShownAt(position)           // stringData: {password: ********}
//
// secrets.go hides below the nodes of a tree, and lines.go decides for a text without one by indentation. Package redact finds the
// values of known Secrets in any text.
package secrets

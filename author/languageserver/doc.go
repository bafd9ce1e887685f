// Package languageserver supports rules in editors, by the Language Server Protocol 3.17: diagnostics, completion,
// hover, definitions, an outline, quick fixes and formatting.
//
//	err := languageserver.Serve(ctx, os.Stdin, os.Stdout, languageserver.Options{Version: "v1.0.0"})
//
// It uses what the commands use: findings of package manifests, fields of package language, types of expressions from
// the compiler (rules.Options.Observe), and package layout.
//
// Text that is being typed is rarely valid YAML. For completion, cursor.go therefore inserts a marker at the cursor,
// closes brackets and quotes behind it, and blanks other lines that do not parse. Then the marker is a name or a value
// in a tree:
//
//	children:
//	- id: web
//	  upda|            the marker is a name below spec, children, 0
//	  template:
//	    metadata:
//	      name: ${parent.spec.|      the marker is read from a value, whose type the compiler knows
//
// Candidates are the names and values that can be there, each with its type, documentation and definition
// (candidates.go, fields.go, expression.go). Completion offers all of them. Hover and definition use the one whose name
// is already there.
//
// server.go handles requests one after the other, checks the newest version of a text in the background, and finds
// definitions of kinds beside the texts. text.go converts positions, diagnostics.go findings and fixes, and symbols.go
// makes the outline. protocol.go has the part of the protocol that is used.
package languageserver

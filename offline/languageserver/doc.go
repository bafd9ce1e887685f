// Package languageserver helps an editor with rules, by the Language Server Protocol 3.17: findings while typing, completion,
// explanations, definitions, an outline, fixes and the layout.
//
//	err := languageserver.Serve(ctx, os.Stdin, os.Stdout, languageserver.Options{Version: "v1.0.0"})
//
// What it knows comes from where the commands have it: findings from package manifests, fields from package language, types of
// expressions from the compiler (rules.Options.Observe), the layout from package layout.
//
// A text is seldom YAML while it is typed. So for completion a marker is put where the cursor is, brackets and quotes are closed
// behind it, and other lines that do not parse are left out (cursor.go). Then the marker is a name or a value somewhere in a tree:
//
//	children:
//	- id: web
//	  upda|            the marker is a name below spec, children, 0
//	  template:
//	    metadata:
//	      name: ${parent.spec.|      the marker is read from something, of which the compiler knows the type
//
// Candidates are what may stand in that place, each with its type, its documentation, and where it is defined (candidates.go,
// fields.go, expression.go). Completion offers all of them; an explanation and a definition are those of the one that is there.
//
// server.go receives requests, in their order; findings are looked for beside that, for the newest version of a text.
// workspace.go has the definitions of kinds beside the texts, text.go positions, diagnostics.go findings and fixes,
// symbols.go the outline. protocol.go has as much of the protocol as is used.
package languageserver

// Package layout formats rules, for kanon fmt and for editors.
//
//	laid, findings := layout.Text("webapp.yaml", data)
//	if len(findings) == 0 && !bytes.Equal(laid, data) {
//		// write it
//	}
//
// For example, this rule
//
//	spec:
//	    children:
//	        - template: {kind: ConfigMap,  apiVersion: v1}   # an object
//	          id: 'settings'
//	    parent:
//
// becomes
//
//	spec:
//	  parent:
//	  children:
//	  - id: 'settings'
//	    template: {kind: ConfigMap, apiVersion: v1} # an object
//
// Fields are in the order of package language. Each level is indented by two spaces; lists are not indented below their
// field. Between two fields, at most one empty line stays. Everything else in a line, such as quotes, and all comments,
// stay; a comment above a field moves with the field.
//
// No library writes YAML this way: the encoder of yaml.v3 loses empty lines and moves comments, and that of
// goccy/go-yaml loses comments in lists and joins lines. So this package moves lines, guided by the positions of
// yaml.v3's nodes. Then it parses the result: unless that is the same rule with the same comments, the text stays as it
// is.
//
// text.go finds the rules in a text, block.go lays out block mappings and lists in the order of their fields, leaf.go the
// values in them, and flow.go flow mappings and lists.
package layout

// Package layout lays rules out in one way, for kanon fmt and for editors.
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
//	  - id: settings
//	    template: {kind: ConfigMap, apiVersion: v1} # an object
//
// Fields stand in the order of package language. Each level is indented by two blanks, and lists as much as the field that has
// them. Quotes go where the same text is read without them, by the parsers of YAML 1.1 and 1.2. One empty line at most stays
// between two fields. What a line consists of otherwise, and all comments, stay as they are: a comment above a field goes with it.
//
// No library writes YAML so: the encoder of yaml.v3 loses empty lines and moves comments, that of goccy/go-yaml loses comments in
// lists and joins lines. So a rule is laid out line by line, where the nodes of yaml.v3 say what is where. What comes out is
// parsed again: if it is not the same rule with the same comments, the text stays as it is.
//
// text.go finds the rules in a text, block.go lays mappings and lists out, leaf.go the values in them, flow.go those in braces, and
// quotes.go says which quotes are needed. order.go has the order of fields.
package layout

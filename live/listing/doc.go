// Package listing prints lists of things as kubectl does: as a table, with all columns, as JSON, as YAML, and as names.
//
//	list := listing.List{Columns: []listing.Column{{Title: "NAME"}, {Title: "READY"}, {Title: "MESSAGE", Wide: true}}}
//	list.Add("web", view, "web", "True", "every child is up to date and ready")
//	printer := listing.Printer{Out: os.Stdout, Format: listing.Table}
//	err := printer.Print(list) // and again, for the rows of a watch
//
// A row has its cells for people and its value for programs. Who makes the value leaves the contents of Secrets out.
package listing

// Package listing prints lists as kubectl does: as a table, with all columns, as JSON, as YAML, and as names.
//
//	list := listing.List{Columns: []listing.Column{{Title: "NAME"}, {Title: "READY"}, {Title: "MESSAGE", Wide: true}}}
//	list.Add("web", view, "web", "True", "every child is up to date and ready")
//	printer := listing.Printer{Out: os.Stdout, Format: listing.Table}
//	err := printer.Print(list) // and again, for the rows of a watch
//
// A row has cells for people and a value for programs. The caller leaves the contents of Secrets out of the value.
package listing

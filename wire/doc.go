// Package wire reads objects as the API server sends them, no further than somebody wants to know them.
//
// An Object is one object as it came: its identity is read, and all else is kept as JSON. The paths in managedFields,
// which are half of the text and the same for all objects of one template but for their owner's UID, are kept once for all
// of them. A Packer makes of an object that is kept for long one that has less: the texts of objects of one template are
// much alike. Head is the part that says what an object is and whose, for those who read the same objects again and again:
// they share it. Shared is the whole, for the same; Tree reads the text anew, so nobody shares what it returns.
//
//	object, err := wire.Decode(body)
//	object.Name()                   // costs nothing
//	object.Head().GetAnnotations()  // reads the metadata
//	object.Tree().Object["status"]  // reads everything
//
// NewClient makes a dynamic client that reads answers and events by this package; NewForConfig is the same with a
// connection of its own. Wherever an object comes from here, an entry of managedFields has its fieldsV1 as text and not
// as a tree: engine/apply takes both forms.
package wire

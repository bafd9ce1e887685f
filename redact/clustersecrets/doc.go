// Package clustersecrets reads the values of the Secrets of a cluster, so that they can be hidden in what people are shown.
//
//	values, err := clustersecrets.Values(ctx, client, "shop") // of all namespaces, or of shop alone without that right
//	values.Text(event.Message)                                // https://(hidden)@db
//
// An error says that not all could be read; what was read is hidden all the same. Values that say nothing are left out, as hidden,
// the name of a namespace would be nowhere to be read: those of tokens but for the token, of what helm keeps, and of Kanon's keys but for
// the keys.
package clustersecrets

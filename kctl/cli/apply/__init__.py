"""`kctl apply`: a cluster's topics as a file declares them."""

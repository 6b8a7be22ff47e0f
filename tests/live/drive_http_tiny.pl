# Drives HTTP::Tiny, the client in Perl's own distribution.
# Reads requests and writes answers as lines of JSON, as tests.live.clients.talk speaks them.

use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->utf8->allow_nonref;
my $client = HTTP::Tiny->new(timeout => 20);

while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    my %options = (headers => $request->{headers});
    if (defined $request->{value}) {
        $options{headers}{'Content-Type'} = 'application/json';
        $options{content} = $json->encode($request->{value});
    }
    my $answer = $client->request($request->{method}, $request->{url}, \%options);
    my $body = eval { $json->decode($answer->{content}) };
    # 599 is what HTTP::Tiny makes of a failure of its own, which no service answered.
    my $failed = $answer->{status} == 599 ? $answer->{content} : $@;
    print $json->encode($failed ? $failed : [0 + $answer->{status}, $body]), "\n";
}

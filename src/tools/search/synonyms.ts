import { wordsOf } from "./words.ts";

/*
 * Words that mean nearly the same when people ask for tools. Each line is one group, and a word may be in several. They are
 * words of everyday speech and of software in general. A hyphen joins two words that are one expression.
 */
const GROUPS = `
get list show find fetch retrieve read view display see look query lookup
search find query lookup filter
create add make new insert post open start register set
add append put insert attach invite
delete remove destroy drop erase clear discard
remove revoke kick expel ban evict dismiss
update edit change modify set patch replace rename adjust alter
send post tell notify write deliver share publish announce
start run trigger launch dispatch begin execute
stop cancel end abort terminate halt kill
cancel delete end
enable activate allow turn
disable deactivate deny block turn
restart rerun again retry redo
download export save get fetch
upload import put attach
share permission grant access invite
allow permit grant permission
copy duplicate clone fork
close resolve finish complete done
finish complete done transition status
move transition transfer
schedule later plan
save store keep create
undo revert restore rollback
lock protect
protect protection rule
count number many total
history log timeline past
like star favorite save
star stargazer
person people user member colleague someone human teammate employee participant
colleague collaborator member
attend participant attendee attended
sign register registrant join
team group
customer client buyer account
company organization organisation org business enterprise
organisation organization
repository repo project
pull-request pr merge-request
pull-request pull
approve review
comment reply remark feedback
thumb reaction emoji like
issue ticket bug task problem story
assign give assignee
hour time worklog
watch follow subscribe
watcher watch follower
duplicate link relation
screenshot attachment image picture photo
build workflow pipeline ci action
job task run
hand manual manually dispatch
branch ref reference
tag ref
commit revision change
file document doc content path
folder directory
document doc file spreadsheet sheet
pdf export
email mail
message mail email text sms
text sms message
appointment event meeting
meeting event
video meeting conference
diary calendar
free freebusy availability available busy
reply responder response respond answer
vacation holiday out-of-office away absence
chat message conversation
channel conversation room
say message history
remind reminder
later schedule
last recent latest lately
lately recent history
song track music
listen play player
next skip
singer artist band
photo image picture avatar
money payment balance amount fund
money-back refund
refund reimburse reversal
bill invoice
charge payment
chargeback dispute
discount coupon promotion
pay-out payout withdraw
earning payout balance
bank-account external-account
subscription plan subscribe
monthly subscription
price cost
phone call ring dial
leak secret expose
password secret credential token key
vulnerability alert security advisory
dependency package library
error failure problem
fail failed failure
log output
scale replica resize
container pod
machine node server instance vm
hang stuck
secret credential password
setting config configuration preference
permission role access
login session auth authenticate
website site page web
webhook hook
date day calendar
`;

/** Weight of a synonym relative to the word itself; weight of each word of a synonym that has several. */
const SYNONYM_WEIGHT = 0.5;
const PART_WEIGHT = 0.35;

/** Read by the first search. */
let synonyms: ReadonlyMap<string, ReadonlyMap<string, number>> | undefined;

function readGroups(): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const read = new Map<string, Map<string, number>>();
  for (const line of GROUPS.trim().split("\n")) {
    const group = line.split(" ").map(wordsOf);
    for (const words of group) {
      const expression = words.join(" ");
      const known = read.get(expression) ?? new Map<string, number>();
      read.set(expression, known);
      for (const others of group) {
        const weight = others.length === 1 ? SYNONYM_WEIGHT : PART_WEIGHT;
        for (const other of others)
          if (!words.includes(other)) known.set(other, Math.max(weight, known.get(other) ?? 0));
      }
    }
  }
  return read;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** The synonyms of a word, or of two words with a space between, each with its weight. All are stemmed. */
export function synonymsOf(expression: string): ReadonlyMap<string, number> {
  synonyms ??= readGroups();
  return synonyms.get(expression) ?? NONE;
}

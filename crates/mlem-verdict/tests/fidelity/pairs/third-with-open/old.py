# %%
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
from tqdm import tqdm_notebook as tqdm
import random

SEED = 11
random.seed(SEED)
torch.manual_seed(SEED)

# %%
text = open('shakespeare.txt').read()
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
codes = [index[c] for c in text]

# %%
class Blocks(Dataset):
    def __init__(self, codes, length):
        self.codes = codes
        self.length = length

    def __len__(self):
        return len(self.codes) - self.length

    def __getitem__(self, i):
        piece = torch.tensor(self.codes[i:i + self.length + 1])
        return piece[:-1], piece[1:]

# %%
class Net(nn.Module):
    def __init__(self, size, hidden=256):
        super().__init__()
        self.embed = nn.Embedding(size, 64)
        self.rnn = nn.LSTM(64, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, size)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.head(h)

# %%
net = Net(len(chars))
loader = DataLoader(Blocks(codes, 100), batch_size=32, shuffle=True)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

def train(net, loader, rounds=3):
    history = []
    for r in range(rounds):
        for x, y in tqdm(loader):
            opt.zero_grad()
            out = net(x)
            loss = loss_fn(out.transpose(1, 2), y)
            loss.backward()
            opt.step()
            history.append(loss.item())
    return history

history = train(net, loader)

# %%
def bits(net, codes):
    net.eval()
    with torch.no_grad():
        x = torch.tensor(codes[-2000:-1]).unsqueeze(0)
        y = torch.tensor(codes[-1999:]).unsqueeze(0)
        return loss_fn(net(x).transpose(1, 2), y).item() / 0.6931

print('bits per character', bits(net, codes))
